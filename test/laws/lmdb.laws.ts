/** The laws of any outbox over lmdb. A crash is a copy of the file as it is, which is what a killed process leaves. */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { it } from 'vitest'
import { lmdbOutbox } from '../../src/outbox/lmdb/lmdbOutbox.ts'
import type { LmdbOutbox } from '../../src/outbox/lmdb/contract.ts'
import { runs } from '../support/runs.ts'
import { outboxLaws, type Ground, type Item } from './outbox.laws.ts'

const codec = {
  toText: JSON.stringify,
  // The text of an item.
  fromText: (text: string) => JSON.parse(text) as Item,
  sizeOf: ({ size }: Item) => size,
}

export const lmdbGround = (): Ground => {
  const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'headrace-laws-'))
  const opened: Array<LmdbOutbox<Item>> = []
  let life = 0
  const path = (): string => join(root, String(life))
  return {
    open: (bounds, clock) => {
      const outbox = lmdbOutbox<Item>({ path: path(), codec, clock, ...bounds })
      opened.push(outbox)
      return outbox
    },
    crash: () => {
      const before = path()
      life++
      mkdirSync(path())
      copyFileSync(join(before, 'data.mdb'), join(path(), 'data.mdb'))
    },
    leave: async () => {
      await Promise.all(opened.map((each) => each.close()))
      rmSync(root, { recursive: true })
    },
  }
}

it('an outbox on a disk keeps the laws of an outbox', async () => {
  await fc.assert(outboxLaws(lmdbGround), { numRuns: runs(0.3) })
})
