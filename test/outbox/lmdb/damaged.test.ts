import * as fc from 'fast-check'
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type * as Lmdb from 'lmdb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import { openLmdbOutbox } from '../../../src/outbox/lmdb/openLmdbOutbox.ts'
import { OutboxError } from '../../../src/outbox/lmdb/OutboxError.ts'
import { refused } from '../../../src/core/failure.ts'
import { rejected } from '../../../src/core/outcome.ts'
import { newFolder } from './grounds.ts'
import { codec, textOf } from './killedItems.js'

// `require` has no types; this is the package that they describe.
const lmdb = createRequire(import.meta.url)('lmdb') as typeof Lmdb

let root = ''
let made = 0
beforeAll(() => {
  root = newFolder()
})
afterAll(() => {
  rmSync(root, { recursive: true })
})

const folder = (): string => {
  const path = join(root, String(++made))
  mkdirSync(path)
  return path
}

const faultOf = (path: string): { reason: string; message: string } | undefined => {
  const opened = openLmdbOutbox<string>({ path, codec })
  return opened._tag === 'Left' ? opened.left : undefined
}

/** A store with so many items, closed; some are dead. */
const filled = async (count: number): Promise<string> => {
  const path = folder()
  const outbox = lmdbOutbox<string>({ path, codec })
  await Promise.all(Array.from({ length: count }, async (_, at) => outbox.append(textOf(`3-${at}`))))
  for (const entry of await outbox.take(0, 3, 0))
    await outbox.end(entry, rejected(entry.item, 1, refused('status')))
  await outbox.close()
  return path
}

const data = (path: string): string => join(path, 'data.mdb')

/** Refused for this reason, and not a byte of it changed. */
const refusedUnchanged = (path: string, reason: string): string => {
  const before = readFileSync(data(path))
  const fault = faultOf(path)
  expect(fault?.reason).toBe(reason)
  expect(readFileSync(data(path)).equals(before)).toBe(true)
  return fault?.message ?? ''
}

const tampered = async (
  change: (own: Lmdb.Database<string, string>) => Promise<unknown>,
): Promise<string> => {
  const path = await filled(10)
  const env = lmdb.open<string, string>(path, { encoding: 'string' })
  await change(env.openDB<string, string>('own', { encoding: 'string' }))
  await env.close()
  return path
}

describe('a store that is not what it should be is refused and left as it is', () => {
  it.each([
    ['a text', 'hello'],
    ['a long text', 'hello '.repeat(10_000)],
    ['zeros', '\0'.repeat(20_000)],
  ])('a file that is %s', (_, text) => {
    const path = folder()
    writeFileSync(data(path), text)
    expect(refusedUnchanged(path, 'notAnOutbox')).toBe(
      `${data(path)} was not written by headrace: give the outbox a folder of its own`,
    )
  })

  it('the store of somebody else', async () => {
    const path = folder()
    const env = lmdb.open<string, string>(path, { encoding: 'string' })
    await env.put('theirs', 'x'.repeat(10_000))
    await env.close()
    refusedUnchanged(path, 'notAnOutbox')
  })

  it('an empty file', () => {
    const path = folder()
    writeFileSync(data(path), '')
    expect(refusedUnchanged(path, 'damaged')).toContain(
      'is shorter than it was: it was left as it is; bring back a copy',
    )
  })

  it('a store of a newer version', async () => {
    const path = await tampered((own) => own.put('version', '2'))
    expect(refusedUnchanged(path, 'newerVersion')).toContain('has layout 2, and this headrace knows up to 1')
  })

  it.each(['', '{', '{"waiting":-1}', 'null'])('a store whose counters are %j', async (text) => {
    const path = await tampered((own) => own.put('totals', text))
    expect(refusedUnchanged(path, 'damaged')).toContain('has lost its counters')
  })

  it('a store that ends too early, wherever: refused, or nothing of it is missing', async () => {
    const whole = await filled(300)
    const { size } = statSync(data(whole))
    let refusals = 0
    const run = async (share: number): Promise<void> => {
      const path = folder()
      copyFileSync(data(whole), data(path))
      truncateSync(data(path), Math.floor(size * share))
      const opened = openLmdbOutbox<string>({ path, codec })
      if (opened._tag === 'Left') {
        expect(['damaged', 'notAnOutbox']).toContain(opened.left.reason)
        expect(statSync(data(path)).size).toBe(Math.floor(size * share))
        refusals++
        return
      }
      const { take, dead, stats, close } = opened.right
      expect((await take(Infinity, 1_000, 1_000)).map(({ item }) => item)).toHaveLength(297)
      expect(await dead.list()).toHaveLength(3)
      expect(stats().quarantined).toBe(0)
      await close()
    }
    await fc.assert(fc.asyncProperty(fc.double({ min: 0, max: 1, noNaN: true }), run), { numRuns: 100 })
    expect(refusals).toBeGreaterThan(50)
  })
})

describe('a folder that cannot be used', () => {
  it.each([
    ['under a file', (path: string) => join(path, 'file', 'outbox')],
    ['that is a file', (path: string) => join(path, 'file')],
  ])('one %s', (_, where) => {
    const path = folder()
    writeFileSync(join(path, 'file'), '')
    const fault = faultOf(where(path))
    expect(fault?.reason).toBe('noAccess')
    expect(fault?.message).toContain(
      `${where(path)} of the outbox cannot be used: let this user make, read and write it`,
    )
  })

  it('throws what says the reason and the folder', () => {
    const path = folder()
    writeFileSync(data(path), 'hello')
    const open = (): unknown => lmdbOutbox<string>({ path, codec })
    expect(open).toThrow(OutboxError)
    try {
      open()
    } catch (error) {
      expect(error).toMatchObject({
        name: 'OutboxError',
        code: 'HEADRACE_OUTBOX',
        reason: 'notAnOutbox',
        path,
      })
    }
  })
})
