import { expect, it } from 'vitest'
import type { Clock } from '../../src/core/clock.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { constVoid } from '../../src/core/either.ts'
import { groupCommit } from '../../src/outbox/lmdb/commit.ts'
import { storedEntries } from '../../src/outbox/lmdb/entries.ts'
import { openStore } from '../../src/outbox/lmdb/store.ts'
import { offerOf } from '../../src/outbox/stored.ts'
import { newFolder, textCodec } from '../support/folder.ts'
import { open, ALL, all, yes, no } from './lmdbKit.ts'

it('reads items of any length back as they were, after a restart, a nack and a rejection', async () => {
  const path = newFolder()
  // Below the shared memory of records, above it, and above the buffer into which lmdb reads.
  const items = ['', '€', '€'.repeat(21_840), 'é'.repeat(65_520), 'x'.repeat(17_000_000)]
  const same = (found: ReadonlyArray<string>): boolean => found.every((item, at) => item === items[at])
  const first = open(path)
  await first.enqueue(items)
  await first.close()
  const second = open(path, { clock: virtualClock() })
  const fresh = await second.lease(0, ALL)
  expect(same(fresh.map(({ item }) => item))).toBe(true)
  await second.nack(fresh.map((entry, at) => ({ entry: { ...entry, firstAttemptAt: at }, due: 0 })))
  const retries = await second.lease(0, ALL)
  expect(same(retries.map(({ item }) => item))).toBe(true)
  expect(retries.map(({ firstAttemptAt }) => firstAttemptAt)).toEqual([0, 1, 2, 3, 4])
  await second.ack(retries.map(no))
  const dead = await second.dead.list()
  expect(same(dead.map((each) => (each.reason === 'ended' ? each.entry.item : 'corrupt')))).toBe(true)
  expect(second.stats()).toMatchObject({ waiting: 0, dead: items.length })
})

it('ignores a repeated or late ack and nack', async () => {
  const outbox = open(newFolder())
  await outbox.enqueue(['a', 'b'])
  const [a, b] = await all(outbox)
  if (a === undefined || b === undefined) throw new Error('both are there')
  await Promise.all([outbox.ack([no(a), no(a)]), outbox.ack([no(a)]), outbox.nack([{ entry: a, due: 5 }])])
  await outbox.nack([{ entry: b, due: 5 }])
  await Promise.all([outbox.nack([{ entry: b, due: 9 }]), outbox.ack([no(b), yes(a)])])
  expect(outbox.stats()).toMatchObject({ waiting: 1, bytes: 1, dead: 1 })
  expect(outbox.nextDue()).toBe(5)
})

it('repeats of a result are one, also after its transaction failed, or was written after that', async () => {
  let fails: 'full' | 'late' | undefined
  const { begun, close } = openStore(newFolder(), 'items', undefined, 0, (store) => {
    const commits = groupCommit(store)
    const write: typeof commits.write = async (...given) => {
      const written = fails !== 'full' && commits.write(...given)
      if (fails || !written) throw new Error('ENOSPC')
      return written
    }
    const bounds = { maxCount: 9, maxBytes: 9, keepDead: 9 }
    const entries = storedEntries(store, { ...commits, write }, textCodec, bounds, () => 0, constVoid)
    return { commits, entries }
  })
  const { entries, commits } = begun
  await entries.enqueue([offerOf(textCodec, 'a')], () => constVoid)
  const [a] = entries.lease(0, ALL)
  if (a === undefined) throw new Error('it is there')
  fails = 'late'
  const nack = () => entries.nack([{ entry: a, due: 5 }])
  await expect(nack()).rejects.toThrow('ENOSPC')
  fails = undefined
  await commits.write(1, false, () => () => constVoid)
  // Its relay still waits for the nack.
  expect([entries.lease(9, ALL), entries.nextDue()]).toEqual([[], undefined])
  await nack()
  expect([entries.nextDue(), entries.lease(9, ALL).length]).toEqual([5, 1])
  fails = 'full'
  const twice = () => [entries.ack([yes(a)]).catch(constVoid), entries.ack([no(a)])] as const
  await expect(twice()[1]).rejects.toThrow('ENOSPC')
  fails = undefined
  await twice()[1]
  expect(commits.counters().waiting).toBe(0)
  await commits.end()
  await close()
})

const DAY = 24 * 3_600_000
const at = (now: number): Clock => ({ now: () => now, monotonic: () => 0, schedule: () => () => undefined })

it('a wrong clock stored due times more than 25 days ahead: they count as now, as first attempts do; a wait is cut to 24 days', async () => {
  const path = newFolder()
  const before = open(path, { clock: at(1_000 * DAY) })
  await before.enqueue(['far', 'near', 'never'])
  const [far, near, never] = await before.lease(0, ALL)
  if (far === undefined || near === undefined || never === undefined) throw new Error('all are there')
  await before.nack([{ entry: never, due: NaN }])
  expect(before.nextDue()).toBe(1_000 * DAY)
  await before.ack((await before.lease(1_000 * DAY, ALL)).map(yes))
  await before.nack([
    { entry: { ...far, firstAttemptAt: 1_000 * DAY }, due: 1_000 * DAY + 5 },
    { entry: { ...near, firstAttemptAt: 10 * DAY }, due: 20 * DAY },
  ])
  await before.close()
  const outbox = open(path, { clock: at(10 * DAY) })
  expect(outbox.nextDue()).toBe(10 * DAY)
  expect(await outbox.lease(10 * DAY, ALL)).toMatchObject([{ item: 'far', firstAttemptAt: 10 * DAY }])
  expect(outbox.nextDue()).toBe(20 * DAY)
  expect(await outbox.lease(20 * DAY, ALL)).toMatchObject([{ item: 'near', firstAttemptAt: 10 * DAY }])
  await outbox.nack([far, near].map((entry, n) => ({ entry, due: n === 0 ? Infinity : 40 * DAY })))
  await outbox.close()
  expect(open(path, { clock: at(9.5 * DAY) }).nextDue()).toBe(34 * DAY)
})
