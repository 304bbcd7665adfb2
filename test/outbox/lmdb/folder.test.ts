/** What else may lie in the folder of an outbox, or become of it. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { messageOf } from '../../../src/core/awaitable.ts'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import { openLmdbOutbox } from '../../../src/outbox/lmdb/openLmdbOutbox.ts'
import type { LmdbOutbox } from '../../../src/outbox/lmdb/LmdbContract.ts'
import { newFolder } from './grounds.ts'
import { codec } from './killedItems.js'

let root = ''
let path = ''
beforeEach(() => {
  root = newFolder()
  path = join(root, 'outbox')
  mkdirSync(path)
})
afterEach(() => {
  rmSync(root, { recursive: true })
})

const open = (): LmdbOutbox<string> => lmdbOutbox<string>({ path, codec })

const refusal = async (): Promise<readonly [string, string] | undefined> => {
  const opened = openLmdbOutbox<string>({ path, codec })
  if (opened._tag === 'Left') return [opened.left.reason, opened.left.message]
  await opened.right.close()
  return undefined
}

describe('what somebody else has in the folder', () => {
  it('stays there', async () => {
    const names = ['new', 'tmp', 'draft']
    for (const name of names) {
      mkdirSync(join(path, name))
      writeFileSync(join(path, name, 'thesis.txt'), 'precious')
      writeFileSync(join(path, name, 'data.mdb'), 'precious')
    }
    const outbox = open()
    await outbox.append('a')
    await outbox.close()
    for (const name of names) expect(readdirSync(join(path, name))).toEqual(['data.mdb', 'thesis.txt'])
    expect(readdirSync(path).sort()).toEqual(['data.mdb', 'draft', 'lock.mdb', 'new', 'tmp'])
  })

  it('under the name of a store that is being made: its two files were left by a start that was cut off, and nothing else is taken', async () => {
    const draft = join(path, '.headrace-new')
    mkdirSync(draft)
    writeFileSync(join(draft, 'data.mdb'), 'half')
    writeFileSync(join(draft, 'thesis.txt'), 'precious')
    expect(await refusal()).toEqual(['noAccess', expect.stringMatching(/not empty.*\.headrace-new/)])
    expect(readFileSync(join(draft, 'thesis.txt'), 'utf8')).toBe('precious')
    rmSync(join(draft, 'thesis.txt'))
    writeFileSync(join(draft, 'data.mdb'), 'half')
    writeFileSync(join(draft, 'lock.mdb'), 'half')
    expect(await refusal()).toBe(undefined)
    expect(existsSync(draft)).toBe(false)
  })

  it('is not reached through a link that stands under that name', async () => {
    const other = join(root, 'other')
    mkdirSync(other)
    writeFileSync(join(other, 'data.mdb'), 'precious')
    symlinkSync(other, join(path, '.headrace-new'))
    expect(await refusal()).toEqual(['noAccess', expect.stringContaining('.headrace-new is not a folder')])
    expect(readdirSync(other)).toEqual(['data.mdb'])
  })
})

it('the files are for this user alone, also in a folder that was there before', async () => {
  expect(await refusal()).toBe(undefined)
  const modes = ['data.mdb', 'lock.mdb'].map((name) => statSync(join(path, name)).mode & 0o777)
  expect(modes).toEqual([0o600, 0o600])
})

// Where lmdb cannot open its files, it ends the process.
describe('files that cannot be opened', () => {
  beforeEach(async () => open().close())

  it('a file of locks that is a folder', async () => {
    rmSync(join(path, 'lock.mdb'))
    mkdirSync(join(path, 'lock.mdb'))
    expect(await refusal()).toEqual(['noAccess', expect.stringContaining(join(path, 'lock.mdb'))])
  })

  it.each(['data.mdb', 'lock.mdb'])('a pipe in the place of %s, which nobody waits for', async (name) => {
    rmSync(join(path, name))
    expect(spawnSync('mkfifo', [join(path, name)]).status).toBe(0)
    expect((await refusal())?.[1]).toContain(join(path, name))
  })

  // Root may open all of it, so it becomes nobody first.
  const NOBODY = `
    import { chmodSync } from 'node:fs'
    import { openLmdbOutbox } from '${new URL('../../../dist/outbox/lmdb/index.js', import.meta.url).href}'
    const codec = { toText: String, fromText: String, sizeOf: () => 1 }
    const [path] = process.argv.slice(1)
    await openLmdbOutbox({ path: path + '.other', codec }).right.close()
    chmodSync(path + '/lock.mdb', 0)
    for (const folder of [path, path + '/..']) chmodSync(folder, 0o777)
    if (process.getuid() === 0) process.setuid(65_534)
    const { _tag, left } = openLmdbOutbox({ path, codec })
    console.log(_tag, left?.reason, left?.message)`

  it('a file of locks that belongs to somebody else', () => {
    const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', NOBODY, path], {
      encoding: 'utf8',
    })
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^Left noAccess .*EACCES/)])
  })

  it('a file of locks that is gone, or was left empty, is made anew', async () => {
    rmSync(join(path, 'lock.mdb'))
    expect(await refusal()).toBe(undefined)
  })

  const LITTLE = `
    import { closeSync, openSync } from 'node:fs'
    import { openLmdbOutbox } from '${new URL('../../../dist/outbox/lmdb/index.js', import.meta.url).href}'
    const codec = { toText: String, fromText: String, sizeOf: () => 1 }
    await openLmdbOutbox({ path: process.argv[1] + '.other', codec }).right.close()
    const held = []
    try { for (;;) held.push(openSync('/dev/null')) } catch {}
    for (let left = Number(process.argv[2]); left > 0; left--) closeSync(held.pop())
    const { _tag, left } = openLmdbOutbox({ path: process.argv[1], codec })
    for (const file of held) closeSync(file)
    console.log(_tag, left?.reason, left?.message)`

  it.each([0, 1, 2, 3])('a process that may open only %d more', (left) => {
    const script = ['--input-type=module', '-e', LITTLE, path, String(left)]
    const args = ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, ...script]
    const { stdout, stderr, status } = spawnSync('sh', args, { encoding: 'utf8' })
    expect(status, stderr).toBe(0)
    expect(stdout).toMatch(left < 3 ? /^Left noAccess .*EMFILE/ : /^Right/)
  })
})

describe('a folder that is moved away while it is open', () => {
  const text = 'x'.repeat(50_000)

  /** Until the mapping is renewed. */
  const work = async (outbox: LmdbOutbox<string>): Promise<string> => {
    try {
      for (let round = 0; round < 40; round++) {
        await Promise.all(Array.from({ length: 256 }, async () => outbox.append(text)))
        await outbox.take(0, 256, 0)
      }
      return 'nothing'
    } catch (error) {
      return messageOf(error)
    }
  }

  it('and begun anew by another: neither touches what the other has', async () => {
    const moved = join(root, 'moved')
    const first = open()
    renameSync(path, moved)
    mkdirSync(path)
    const second = open()
    await second.append('of the second')
    expect(await work(first)).toContain(`the outbox in ${path} is another one by now`)
    await first.close()
    expect((await refusal())?.[0]).toBe('inUse')
    await second.append('also')
    expect((await second.take(0, 1_000, 0)).map(({ item }) => item)).toEqual(['of the second', 'also'])
    await second.close()
    expect(readdirSync(path).sort()).toEqual(['data.mdb', 'lock.mdb'])
  })

  it('and brought back: it goes on', async () => {
    const moved = join(root, 'moved')
    const outbox = open()
    renameSync(path, moved)
    expect(await work(outbox)).toContain('is gone')
    renameSync(moved, path)
    const { waiting } = outbox.stats()
    await outbox.append('again')
    expect(outbox.stats().waiting).toBe(waiting + 1)
    await outbox.close()
    expect(readdirSync(path).sort()).toEqual(['data.mdb', 'lock.mdb'])
  })

  it('and only its file replaced by another, a back-up for example', async () => {
    const file = join(path, 'data.mdb')
    const outbox = open()
    copyFileSync(file, `${file}.copy`)
    const before = readFileSync(file)
    renameSync(`${file}.copy`, file)
    expect(await work(outbox)).toContain('is another one by now')
    await outbox.close()
    expect(readFileSync(file).equals(before)).toBe(true)
  })
})
