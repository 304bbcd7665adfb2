/** The path of a folder, as it was given. */
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { messageOf } from '../../../src/core/awaitable.ts'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import { openLmdbOutbox } from '../../../src/outbox/lmdb/openLmdbOutbox.ts'
import { newFolder } from './grounds.ts'
import { codec } from './killedItems.js'

const before = process.cwd()
let folder = ''
beforeEach(() => {
  folder = newFolder()
})
afterEach(() => {
  process.chdir(before)
  rmSync(folder, { recursive: true })
})

it('means the same folder for as long as it is open, wherever the process goes meanwhile', async () => {
  process.chdir(folder)
  mkdirSync('elsewhere')
  const outbox = lmdbOutbox<string>({ path: 'outbox', codec })
  process.chdir('elsewhere')
  await outbox.append('a')
  await outbox.close()
  expect(existsSync(join(folder, 'outbox', 'owner.json'))).toBe(false)
  const again = lmdbOutbox<string>({ path: join(folder, 'outbox'), codec })
  expect(again.stats().waiting).toBe(1)
  await again.close()
})

it.each([undefined, '', 5, new URL('file:///tmp')])(
  'must be a text that is not empty, and not %s',
  (path) => {
    // Not every caller has types.
    const opened = openLmdbOutbox<string>({ path: path as string, codec })
    expect(opened).toMatchObject({ _tag: 'Left', left: { reason: 'noAccess' } })
    expect(opened).toHaveProperty(
      'left.message',
      'the outbox has no path: give the folder in which it lies, as text',
    )
  },
)

it('whose file is removed while it is open is not begun anew', async () => {
  const path = join(folder, 'outbox')
  const opened = openLmdbOutbox<string>({ path, codec })
  if (opened._tag === 'Left') throw new Error(opened.left.message)
  rmSync(join(path, 'data.mdb'))
  const text = 'x'.repeat(50_000)
  // Until the mapping is renewed: lmdb would make an empty store in its place.
  const work = async (): Promise<void> => {
    for (let round = 0; round < 40; round++) {
      await Promise.all(Array.from({ length: 256 }, async () => opened.right.append(text)))
      await opened.right.take(0, 256, 0)
    }
  }
  const message = await work().then(
    () => 'nothing',
    (error: unknown) => messageOf(error),
  )
  expect(message).toContain('somebody has removed its file')
  expect(existsSync(join(path, 'data.mdb'))).toBe(false)
  await opened.right.close()
})
