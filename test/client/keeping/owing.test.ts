import { expect, it } from 'vitest'
import { batchOf } from '../../../src/client/keeping/BatchRecord.ts'
import { MOST_OWED, owing } from '../../../src/client/keeping/owing.ts'
import { refused } from '../../../src/core/failure.ts'
import { rejected } from '../../../src/core/outcome.ts'
import type { MessageBatch } from '../../../src/client/Message.ts'
import type { Remains } from '../../../src/outbox/lmdb/entering/Drafts.ts'
import { messageOf } from './grounds.ts'

const part = { number: 1, text: '', count: 1, size: 1 }

/** What a batch of so many messages leaves that died in memory, with a part on the disk or without one. */
const dead = (count: number, struck: Remains<MessageBatch>['struck'] = []): Remains<MessageBatch> => {
  const members = Array.from({ length: count }, (_, n) => messageOf(`m${String(n)}`))
  const item = batchOf('0.1', 'count', members)
  const entry = { id: 'm1', item, firstAttemptAt: undefined, progress: undefined }
  return { struck, letter: { entry, outcome: rejected(item, 1, refused('status')) } }
}

/** A disk that takes nothing until it is told to. */
const world = () => {
  const said: string[] = []
  const buried: Array<Remains<MessageBatch>> = []
  const disk = { isDown: true }
  let owes = 0
  const owed = owing({
    bury: async (remains) => {
      if (disk.isDown) throw new Error('no disk')
      buried.push(...remains)
    },
    defect: (error) => said.push(error instanceof Error ? error.message : 'no error'),
    owes: () => owes++,
  })
  return { disk, owed, said, buried, owes: () => owes }
}

const lettersIn = (all: ReadonlyArray<Remains<MessageBatch>>): number =>
  all.reduce((sum, { letter }) => sum + (letter?.entry.item.members.length ?? 0), 0)

it('holds what died for a disk that takes nothing, up to its bound, and says how much it does not hold', async () => {
  const { disk, owed, said, buried, owes } = world()
  for (let left = MOST_OWED.messages; left > 0; left -= 100) await owed.settle(dead(100))
  expect([said, owes()]).toEqual([[], 10])

  await owed.settle(dead(7, [part]))
  expect(said).toEqual(['7 messages died that are no dead letters: the disk of the outbox takes nothing'])
  await expect(owed.settleAll()).rejects.toThrow('no disk')

  disk.isDown = false
  await owed.settleAll()
  expect(lettersIn(buried)).toBe(MOST_OWED.messages)
  // What it had on the disk goes all the same, and before anything comes.
  expect(buried[0]).toEqual({ struck: [part], letter: undefined })
  expect(owed.isAny()).toBe(false)
})

it('has room again for as much as was written', async () => {
  const { disk, owed, said } = world()
  await owed.settle(dead(MOST_OWED.messages))
  disk.isDown = false
  await owed.settleAll()
  disk.isDown = true
  await owed.settle(dead(MOST_OWED.messages))
  expect(said).toEqual([])
  await owed.settle(dead(1))
  expect(said).toHaveLength(1)
})

it('says at the end how much of it was never written', async () => {
  const { owed, said } = world()
  await owed.settle(dead(3))
  await owed.settle(dead(4))
  owed.giveUp()
  owed.giveUp()
  expect(said).toEqual(['7 messages died that are no dead letters: the disk of the outbox takes nothing'])
})

it('asks nothing of the disk for what leaves nothing there', () => {
  const { owed, owes } = world()
  expect(owed.settle({ struck: [], letter: undefined })).toBeUndefined()
  expect(owes()).toBe(0)
})
