/** What lmdbOutbox does beyond the laws of an outbox: group commit, bounds, bookmarks, owners, corrupt records, options. */
import { isRight } from 'fp-ts/lib/Either.js'
import { execFile } from 'node:child_process'
import fs, { copyFileSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { messageOf } from '../../src/core/failure.ts'
import { OutboxError } from '../../src/outbox/lmdb/contract.ts'
import type { Entry } from '../../src/outbox/index.ts'
import { newFolder, textCodec } from '../support/folder.ts'
import { open, data, faultOf, all, yes, no } from './lmdbKit.ts'

const some = (count: number) => Array.from({ length: count }, (_, at) => `item ${String(at)}`)

/** The transactions so far: the number in the newer of the two meta pages. */
const transactions = (path: string): number => {
  const bytes = readFileSync(data(path))
  return Math.max(...[24, 4_096 + 24].map((at) => Number(bytes.readBigUInt64LE(at + 128))))
}

describe('group commit', () => {
  it('makes one transaction of a synchronous burst, of each list, and of what comes at the same time', async () => {
    const path = newFolder()
    const outbox = open(path)
    const before = transactions(path)
    const answers = await Promise.all(some(1_000).map(async (item) => outbox.enqueue([item])))
    expect([answers.flat().every(isRight), transactions(path) - before]).toEqual([true, 1])
    await outbox.enqueue(some(1_000))
    expect(transactions(path) - before).toBe(2)
    const entries = await all(outbox)
    expect(entries).toHaveLength(2_000)
    await Promise.all(entries.slice(0, 1_000).map(async (entry) => outbox.ack([yes(entry)])))
    const retries = entries.slice(1_500).map((entry) => ({ entry, due: 5 }))
    await Promise.all([outbox.ack(entries.slice(1_000, 1_500).map(yes)), outbox.nack(retries)])
    expect(transactions(path) - before).toBeLessThanOrEqual(5)
    expect(outbox.stats().waiting).toBe(500)
  })

  it('writes what came before a close and rejects what comes after', async () => {
    const path = newFolder()
    const outbox = open(path)
    await outbox.enqueue(['dead', 'retry'])
    const [dead, retry] = (await all(outbox)) as [Entry<string>, Entry<string>]
    await Promise.all([outbox.ack([no(dead)]), outbox.nack([{ entry: retry, due: 5 }])])
    const early = outbox.enqueue(some(100))
    const closed = outbox.close()
    await expect(outbox.enqueue(['late'])).rejects.toThrow(`the outbox in ${path} is closed`)
    expect((await early).every(isRight)).toBe(true)
    await closed
    expect([await all(outbox), outbox.nextDue(), outbox.retries?.()]).toEqual([[], undefined, []])
    const { list, redrive, purge } = outbox.dead
    expect(await Promise.all([list(), redrive(() => true), purge(() => true)])).toEqual([[], [], 0])
    expect(open(path).stats()).toMatchObject({ waiting: 101, dead: 1 })
  })
})

it('lets a process exit while it writes', async () => {
  const script = `import { lmdbOutbox } from './dist/outbox/lmdb/index.js'
    void lmdbOutbox({ path: process.argv[1] }).enqueue(['a'])
    setTimeout(() => process.exit(3), process.argv[2])`
  for (const wait of ['0', '1', '2']) {
    const args = ['--input-type=module', '-e', script, newFolder(), wait]
    const ended = promisify(execFile)(process.execPath, args, { timeout: 60_000, killSignal: 'SIGKILL' })
    await expect(ended).rejects.toMatchObject({ code: 3 })
  }
})

it('moves more dead letters than one transaction holds', async () => {
  const outbox = open(newFolder())
  await outbox.enqueue(some(1_300))
  await outbox.ack((await all(outbox)).map(no))
  expect(await outbox.dead.list()).toHaveLength(1_000)
  expect(await outbox.dead.redrive(({ entry }) => entry.item.endsWith('7'))).toHaveLength(130)
  expect(await outbox.dead.purge((one) => one.reason === 'ended' && one.entry.item.endsWith('8'))).toBe(130)
  expect(outbox.stats()).toMatchObject({ waiting: 130, dead: 1_040 })
  const path = newFolder()
  const large = open(path)
  await large.enqueue(Array<string>(3).fill('x'.repeat(9_000_000)))
  await large.ack((await all(large)).map(no))
  const before = transactions(path)
  expect([await large.dead.purge(() => true), transactions(path) - before]).toEqual([3, 3])
})

it('keeps as many dead letters as it was last told', async () => {
  const path = newFolder()
  const kept: number[] = []
  for (const options of [{ keepDead: 2 }, {}, { keepDead: 4 }, { keepDead: 3 }, {}]) {
    const outbox = open(path, options)
    await outbox.enqueue(some(4))
    await outbox.ack((await all(outbox)).map(no))
    kept.push(outbox.stats().dead)
    await outbox.close()
  }
  expect(kept).toEqual([2, 2, 4, 3, 3])
})

describe('bookmarks', () => {
  it('are stored with their items or not at all', async () => {
    const path = newFolder()
    const outbox = open(path, { maxCount: 3 })
    expect(outbox.bookmark('in')).toBe(undefined)
    for (const [at, item] of some(5).entries())
      await outbox.enqueue([item], { bookmark: { name: 'in', value: String(at) } })
    expect(outbox.bookmark('in')).toBe('2')
    const copy = newFolder()
    copyFileSync(join(path, 'data.mdb'), join(copy, 'data.mdb'))
    await outbox.close()
    const crashed = open(copy)
    expect([crashed.bookmark('in'), crashed.stats().waiting]).toEqual(['2', 3])
  })

  it('pass over no items: none is stored after items that the disk did not take', async () => {
    const outbox = open(newFolder())
    const { statfsSync } = fs
    Object.assign(fs, { statfsSync: () => ({ ...statfsSync('/'), bavail: 0 }) })
    syncBuiltinESMExports()
    const enqueue = async (value: string) => outbox.enqueue([value], { bookmark: { name: 'in', value } })
    const full = expect(enqueue('0')).rejects.toThrow('nearly full')
    for (let turn = 0; turn < 3; turn++) await Promise.resolve()
    Object.assign(fs, { statfsSync })
    syncBuiltinESMExports()
    const [answers] = await Promise.all([enqueue('1'), full])
    expect([answers.filter(isRight).length, outbox.bookmark('in')]).toEqual([1, undefined])
  })

  it('have names of any characters and length', async () => {
    const names = ['in', ' ', '\0', '\ud800', '😀', `/${'x'.repeat(5_000)}`]
    const path = newFolder()
    const outbox = open(path)
    const bookmarks = names.map((name, at) => ({ name, value: String(at) }))
    await Promise.all(bookmarks.map(async (bookmark) => outbox.enqueue(['a'], { bookmark })))
    await outbox.close()
    const again = open(path)
    expect(names.map(again.bookmark)).toEqual(names.map((_, at) => String(at)))
    await Promise.all(names.map((each) => again.remember({ name: each, value: each })))
    expect(names.map(again.bookmark)).toEqual(names)
  })
})

it.each([
  ['sizeOf', NaN, 'NaN: it must be a number from 0'],
  ['sizeOf', -5, '-5: it must be a number from 0'],
  ['toText', undefined, 'undefined: it must be a string'],
  ['toText', 'a\ud800', 'half a character: not stored'],
] as const)('a codec whose %s answers %s refuses its list and no other', async (member, answer, told) => {
  const wrong = { [member]: (item: string) => (item === 'bad' ? answer : textCodec[member](item)) }
  const outbox = open(newFolder(), { codec: { ...textCodec, ...wrong } })
  const answers = await Promise.allSettled(['a', 'bad', 'b'].map(async (one) => outbox.enqueue([one, 'x'])))
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  const [, bad] = answers
  expect(messageOf(bad?.status === 'rejected' && bad.reason)).toBe(`the codec's ${member} answered ${told}`)
  // A bookmark would skip it.
  await outbox.enqueue(['c'], { bookmark: { name: 'in', value: 'c' } })
  expect([outbox.stats().waiting, outbox.bookmark('in')]).toEqual([5, undefined])
})

describe('a folder', () => {
  it('belongs to one owner as long as it holds anything, and holds one kind of items', async () => {
    const path = newFolder()
    const outbox = open(path, { owner: 'orders' })
    await outbox.enqueue(['a'])
    await outbox.close()
    expect(faultOf(path, { owner: 'mail' })).toMatchObject({
      reason: 'otherOwner',
      message: `the outbox in ${path} belongs to "orders", and was opened for "mail": give each its own folder, or, if it is the same one under a new name, set the owner of this outbox to "orders"`,
    })
    const same = open(path, { owner: 'orders' })
    await same.ack((await all(same)).map(no))
    await same.close()
    expect(faultOf(path, { owner: 'mail' })?.reason).toBe('otherOwner')
    const message = `the outbox in ${path} holds items, and was opened for messages: give each its own folder`
    const fault = faultOf(path, { codec: { ...textCodec, kind: 'messages' } })
    expect(fault).toMatchObject({ reason: 'otherKind', message })
    // One without an owner may open any folder.
    const nameless = open(path)
    await nameless.dead.purge(() => true)
    await nameless.close()
    expect(faultOf(path, { owner: 'mail' })).toBe(undefined)
  })

  it('is for this user alone, with all that is in it', async () => {
    const path = join(newFolder(), 'a', 'b')
    open(path)
    const paths = [path, join(path, 'data.mdb'), join(path, 'lock.mdb'), join(path, 'headrace.lock')]
    const modes = paths.map((each) => (statSync(each).mode & 0o777).toString(8))
    expect(modes).toEqual(['700', '600', '600', '600'])
  })

  it('that is or is under a file or a link to nothing is refused by name, with the way out', () => {
    const [file, link] = [join(newFolder(), 'file'), join(newFolder(), 'link')]
    writeFileSync(file, '')
    symlinkSync('/nowhere/at/all', link)
    for (const path of [file, join(file, 'outbox'), link, join(link, 'outbox')]) {
      const message = `the folder ${path} of the outbox cannot be used: a file, or a link to nothing, is at its`
      expect(faultOf(path)).toMatchObject({ reason: 'noAccess', message: expect.stringContaining(message) })
    }
    const path = newFolder()
    writeFileSync(data(path), 'hello')
    expect(() => open(path)).toThrow(OutboxError)
    const error = { name: 'OutboxError', code: 'HEADRACE_OUTBOX', reason: 'notAnOutbox', path }
    expect(() => open(path)).toThrow(expect.objectContaining(error) as Error)
  })

  it.each([
    [{ maxCount: 0 }, 'maxCount'],
    [{ maxBytes: 1.5 }, 'maxBytes'],
    [{ keepDead: -1 }, 'keepDead'],
    [{ path: '' }, 'path'],
    [{ owner: '' }, 'owner'],
  ])('has options that are checked: %o', (options, name) =>
    expect(() => open(newFolder(), options)).toThrow(`Invalid lmdb outbox: ${name}`),
  )
})
