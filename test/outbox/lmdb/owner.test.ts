import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createInterface } from 'node:readline'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import { openLmdbOutbox } from '../../../src/outbox/lmdb/openLmdbOutbox.ts'
import { thisThread } from '../../../src/outbox/lmdb/opening/Owner.ts'
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
  const me = thisThread(0)

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
    // Nor is the place of that one, while somebody else does that.
    writeFileSync(`${next}.next`, JSON.stringify(me))
    expect(refusal()?.[1]).toContain('in use by a process that is starting: try again')
    expect(existsSync(next)).toBe(true)
    writeFileSync(`${next}.next`, '')
    expect(refusal()).toBe(undefined)
    expect(readdirSync(path).filter((name) => name.startsWith('owner'))).toEqual(['owner.json'])
  })

  // In a container a process has the number of the one that was killed before it. Both names were of one file then.
  it.each(['owner.json', 'owner.json.next'])(
    'is taken over from one with the same number that was killed when it had just linked %s',
    (name) => {
      leftBy({ ...me, started: '1' })
      const own = join(path, `owner.json.${String(me.pid)}.${String(me.thread)}`)
      writeFileSync(own, JSON.stringify({ ...me, started: '1' }))
      rmSync(join(path, name), { force: true })
      linkSync(own, join(path, name))
      expect(refusal()).toBe(undefined)
      expect(ownerNow().started).toBe(me.started)
      expect(readdirSync(path).filter((each) => each.startsWith('owner'))).toEqual(['owner.json'])
    },
  )

  // A disk may leave it so when the power goes. It is synced before it is there, so nobody who lives has it so.
  it.each(['', '\0'.repeat(130), '\n'])('is taken over from nobody: %j', (text) => {
    writeFileSync(join(path, 'owner.json'), text)
    expect(refusal()).toBe(undefined)
    expect(ownerNow().pid).toBe(process.pid)
  })

  it.each(['who?', '{}', '{"pid":0}', '{"name":"Ann"}', 'null'])(
    'is not taken over from %j, which is of somebody else: that is for a person to decide',
    (text) => {
      writeFileSync(join(path, 'owner.json'), text)
      expect(refusal()).toEqual([
        'inUse',
        expect.stringContaining(`if none has it open, delete ${join(path, 'owner.json')}`),
      ])
      expect(readFileSync(join(path, 'owner.json'), 'utf8')).toBe(text)
    },
  )

  it('a file that cannot be read is told as that', () => {
    mkdirSync(join(path, 'owner.json'))
    expect(refusal()).toEqual(['noAccess', expect.stringContaining('EISDIR')])
  })

  // So it is told where a full disk takes no file.
  it('the word may be a link that points nowhere', () => {
    const { pid, task, started } = me
    const file = join(path, 'owner.json')
    symlinkSync(JSON.stringify({ pid, task, started }), file)
    expect(refusal()?.[1]).toContain('in use by this process, since an unknown moment')
    rmSync(file)
    symlinkSync(JSON.stringify({ pid, task, started: '1' }), file)
    expect(refusal()).toBe(undefined)
    expect(ownerNow().pid).toBe(process.pid)
  })

  it('what another has put in its place is not taken away on closing', async () => {
    const outbox = lmdbOutbox<string>({ path, codec })
    const other = { ...me, firstAttemptAt: 'later' }
    leftBy(other)
    await outbox.close()
    expect(ownerNow()).toEqual(other)
  })

  it('an opening that fails gives the folder back', () => {
    writeFileSync(join(path, 'data.mdb'), 'something else')
    expect(refusal()?.[0]).toBe('notAnOutbox')
    expect(readdirSync(path)).toEqual(['data.mdb'])
  })
})

describe('one thread at a time', () => {
  const THREAD = `
    const { workerData: path, parentPort } = require('node:worker_threads')
    const codec = { toText: String, fromText: String, sizeOf: () => 1 }
    import('${new URL('../../../dist/outbox/lmdb/index.js', import.meta.url).href}').then(async ({ lmdbOutbox }) => {
      const outbox = lmdbOutbox({ path, codec })
      await outbox.append('a')
      parentPort.postMessage('kept')
      setInterval(() => outbox.append('b'), 1)
    })`

  // Elsewhere the system does not say which thread it is.
  it.runIf(existsSync('/proc/thread-self'))('what a thread left that was ended is taken over', async () => {
    const thread = new Worker(THREAD, { eval: true, workerData: path })
    await once(thread, 'message')
    expect(refusal()?.[1]).toMatch(/by another thread of this process, since .*free when that thread ends/)
    await thread.terminate()
    const outbox = lmdbOutbox<string>({ path, codec })
    expect(outbox.stats().waiting).toBeGreaterThan(0)
    await outbox.close()
  })

  it('is told so, where the system does not say which threads there are', () => {
    leftBy({ ...thisThread(0), thread: 999, task: undefined })
    expect(refusal()?.[1]).toMatch(/by another thread of this process, .*free when this process ends/)
  })
})
