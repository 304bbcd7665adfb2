import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, linkSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import { openLmdbOutbox } from '../../../src/outbox/lmdb/openLmdbOutbox.ts'
import { thisProcess } from '../../../src/outbox/lmdb/opening/Owner.ts'
import type { Owner } from '../../../src/outbox/lmdb/opening/Owner.ts'
import { newFolder } from './grounds.ts'
import { codec } from './killedItems.js'

const CHILD = fileURLToPath(new URL('killedProcess.js', import.meta.url))

let path = ''
beforeEach(() => {
  path = newFolder()
})
afterEach(() => {
  rmSync(path, { recursive: true })
})

const refusal = (): readonly [string, string] | undefined => {
  const opened = openLmdbOutbox<string>({ path, codec })
  return opened._tag === 'Left' ? [opened.left.reason, opened.left.message] : undefined
}

const leftBy = (owner: Owner): void => {
  writeFileSync(join(path, 'owner.json'), JSON.stringify(owner))
}

describe('one process at a time', () => {
  it('this process has it once, until it closes it', async () => {
    const outbox = lmdbOutbox<string>({ path, codec })
    const [reason, message] = refusal() ?? []
    expect(reason).toBe('inUse')
    expect(message).toMatch(/in use by this process, since 20\d\d-.*: close it first/)
    await outbox.append('a')
    await outbox.close()
    await outbox.close()
    expect(readdirSync(path).sort()).toEqual(['data.mdb', 'lock.mdb'])
    const again = lmdbOutbox<string>({ path, codec })
    expect(again.stats().waiting).toBe(1)
    await again.close()
  })

  it('another process keeps it while it lives, and what it left is taken over when it is killed', async () => {
    const child = spawn(process.execPath, [CHILD, path, '1', '1'], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(createInterface({ input: child.stdout }), 'line')
    const [reason, message] = refusal() ?? []
    expect(reason).toBe('inUse')
    expect(message).toContain(`in use by process ${String(child.pid)}, since 20`)
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(existsSync(join(path, 'owner.json'))).toBe(true)
    const outbox = lmdbOutbox<string>({ path, codec })
    expect(ownerNow().pid).toBe(process.pid)
    await outbox.close()
  })

  const ownerNow = (): Owner => JSON.parse(readFileSync(join(path, 'owner.json'), 'utf8')) as Owner
  const me = thisProcess(0)

  it.each([
    ['whose number nobody has', { ...me, pid: 2 ** 22 + 1 }],
    ['of another start of the machine', { ...me, boot: 'another' }],
    ['whose number another one has by now', { ...me, started: '1' }],
  ])('is taken over from a process %s', async (_, owner) => {
    leftBy(owner)
    expect(refusal()).toBe(undefined)
    expect(ownerNow().started).toBe(me.started)
    expect(readdirSync(path).filter((name) => name.startsWith('owner'))).toEqual(['owner.json'])
  })

  it('is not taken over while somebody else does it, and is when that one died over it', () => {
    leftBy({ ...me, boot: 'another' })
    const next = join(path, 'owner.json.next')
    writeFileSync(next, JSON.stringify(me))
    expect(refusal()?.[1]).toContain('in use by a process that is starting: try again')
    writeFileSync(next, JSON.stringify({ ...me, started: '1' }))
    expect(refusal()).toBe(undefined)
    expect(existsSync(next)).toBe(false)
  })

  // In a container a process has the number of the one that was killed before it. Both names were of one file then.
  it.each(['owner.json', 'owner.json.next'])(
    'is taken over from one with the same number that was killed when it had just linked %s',
    (name) => {
      leftBy({ ...me, started: '1' })
      const own = join(path, `owner.json.${String(me.pid)}`)
      writeFileSync(own, JSON.stringify({ ...me, started: '1' }))
      rmSync(join(path, name), { force: true })
      linkSync(own, join(path, name))
      expect(refusal()).toBe(undefined)
      expect(ownerNow().started).toBe(me.started)
      expect(readdirSync(path).filter((each) => each.startsWith('owner'))).toEqual(['owner.json'])
    },
  )

  it.each(['', 'who?', '{}', '{"pid":0}', 'null'])(
    'is not taken over from %j: that is for a person to decide',
    (text) => {
      writeFileSync(join(path, 'owner.json'), text)
      expect(refusal()).toEqual([
        'inUse',
        expect.stringContaining(`if none has it open, delete ${join(path, 'owner.json')}`),
      ])
    },
  )

  it('an opening that fails gives the folder back', () => {
    writeFileSync(join(path, 'data.mdb'), 'something else')
    expect(refusal()?.[0]).toBe('notAnOutbox')
    expect(readdirSync(path)).toEqual(['data.mdb'])
  })
})
