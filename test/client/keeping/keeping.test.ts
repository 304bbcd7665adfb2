/** What the laws of keeping found, or could not say, one by one. */
import { expect, it, onTestFinished } from 'vitest'
import { batchOf } from '../../../src/client/keeping/BatchRecord.ts'
import { keeping } from '../../../src/client/keeping/keeping.ts'
import type { Message, MessageBatch } from '../../../src/client/Message.ts'
import type { StoredOutbox } from '../../../src/outbox/lmdb/storedOutbox.ts'
import { virtualClock } from '../../../src/testing/virtualClock.ts'
import { folders, messageOf } from './grounds.ts'
import type { Folders } from './grounds.ts'

const newFolders = (): Folders => {
  const made = folders()
  onTestFinished(made.leave)
  return made
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A life with one lane. `write` stands between it and the disk. */
const begin = (
  on: Folders,
  write: (real: StoredOutbox<MessageBatch>['drafts']['write']) => typeof real = (real) => real,
) => {
  const { store, found } = on.open()
  const clock = virtualClock()
  const defects: unknown[] = []
  let open: ReadonlyArray<Message> = []
  let closings = 0
  const kept = keeping({
    store: { ...store, drafts: { ...store.drafts, write: write(store.drafts.write) } },
    clock,
    eachOpen: (look) => {
      look(0, open)
    },
    kept: () => undefined,
    ended: () => undefined,
    leaving: () => undefined,
    defect: (error) => defects.push(error),
  })
  return {
    kept,
    clock,
    defects,
    found,
    stats: store.stats,
    accept: (...ids: string[]) => {
      open = [...open, ...ids.map((id) => messageOf(id))]
      kept.accepted()
    },
    close: () => {
      const batch = batchOf(`0.${String(++closings)}`, 'count', open)
      open = []
      kept.closed(batch, 0)
    },
  }
}

const fails = (): Promise<never> => Promise.reject(new Error('no disk'))

it('hands a closed batch out when its transaction has ended, however much comes meanwhile', async () => {
  const life = begin(newFolders())
  life.accept('a')
  life.close()
  let taken: ReadonlyArray<string> | undefined
  const took = Promise.resolve(life.kept.outbox.take(0, 1, 1)).then((entries) => {
    taken = entries.flatMap(({ item }) => item.members.map(({ id }) => id))
  })
  // There is always one more message, so the writer never rests.
  for (let turn = 0; turn < 500 && taken === undefined; turn++) {
    life.accept(`b${String(turn)}`)
    await nextTurn()
  }
  expect(taken).toEqual(['a'])
  await took
})

it('hands back, when it is given up, only what is not on the disk', async () => {
  let isDown = false
  const on = newFolders()
  const life = begin(on, (real) => (change) => (isDown ? fails() : real(change)))
  life.accept('a', 'b')
  expect(await life.kept.whenKept()).toBe(true)
  isDown = true
  life.accept('c')
  life.close()
  await nextTurn()
  expect(life.kept.notPersisted()).toBe(1)
  await life.kept.outbox.close()
  const back = life.kept.giveUp().map(({ members }) => members.map(({ id }) => id))
  expect(back).toEqual([['c']])
  expect(life.kept.notPersisted()).toBe(0)
  const next = begin(on)
  expect(next.kept.restored.map(({ members }) => members.map(({ id }) => id))).toEqual([['a', 'b']])
})

it('does not say that something is on the disk while that is being written, also after it was stopped', async () => {
  let answer: () => void = () => undefined
  const life = begin(
    newFolders(),
    () => () =>
      new Promise((_resolve, reject) => {
        answer = () => {
          reject(new Error('no disk'))
        }
      }),
  )
  life.accept('a')
  await nextTurn()
  const back = life.kept.giveUp()
  expect(back).toEqual([])
  expect(await life.kept.whenKept()).toBe(false)
  answer()
})

it('writes no transaction for nothing', async () => {
  let count = 0
  const life = begin(newFolders(), (real) => (change) => {
    count++
    return real(change)
  })
  life.accept('a')
  life.close()
  life.kept.outbox.append(batchOf('0.1', 'count', [messageOf('a')]))
  await nextTurn()
  expect(await life.kept.whenKept()).toBe(true)
  await nextTurn()
  expect([count, life.stats().waiting]).toEqual([1, 1])
})

it('writes no part over one that cannot be read, while that could not be put aside', async () => {
  const on = newFolders()
  const first = begin(on)
  first.accept('a')
  expect(await first.kept.whenKept()).toBe(true)
  const [part] = first.found().parts
  await on.crash(part?.number)
  const numbers: number[] = []
  const second = begin(
    on,
    (real) => (change) =>
      real(() => {
        const what = change()
        numbers.push(...what.drafts.map(({ number }) => number))
        return what
      }),
  )
  second.accept('b')
  expect(await second.kept.whenKept()).toBe(true)
  expect(numbers).toEqual([(part?.number ?? 0) + 1])
  expect(second.stats()).toMatchObject({ waiting: 2, unreadable: 1, quarantined: 1 })
})

it('puts a part aside that is what was written, and no part of ours', async () => {
  const on = newFolders()
  const { store } = on.open()
  const part = { number: 1, text: 'no header', count: 3, size: 9 }
  await store.drafts.write(() => ({ items: [], worked: [], drafts: [part], struck: [] }))
  await on.crash()
  const life = begin(on)
  expect(life.stats()).toMatchObject({ waiting: 3, unreadable: 3 })
  expect(life.kept.restored).toEqual([])
  await life.kept.outbox.close()
  await on.crash()
  expect(begin(on).stats()).toMatchObject({ waiting: 3, unreadable: 3, quarantined: 1 })
})
