import * as fc from 'fast-check'
import { rmSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import { storeTime } from '../../../src/outbox/lmdb/records/storeTime.ts'
import { retryable } from '../../../src/core/failure.ts'
import type { Entry, Outbox } from '../../../src/outbox/outbox.ts'
import { virtualClock } from '../../../src/testing/virtualClock.ts'
import { newFolder } from './grounds.ts'

const HOUR = 3_600_000
const NOON = 1_800_000_000_000
const codec = { toText: (item: string) => item, fromText: (text: string) => text, sizeOf: () => 1 }
const progress = { attempts: 1, lastFailure: retryable('busy') }

const folder = (): string => {
  const path = newFolder(true)
  onTestFinished(() => {
    rmSync(path, { recursive: true, force: true })
  })
  return path
}

/** A life of a store on a machine whose clock says `at` when it begins. */
const openAt = (path: string, at: number): { outbox: Outbox<string>; pass: (ms: number) => number } => {
  const clock = virtualClock({ start: at })
  return {
    outbox: lmdbOutbox({ path, codec, clock }),
    pass: (ms) => {
      clock.tick(ms)
      return clock.now()
    },
  }
}

/** Parks a new item at `now`, tried for the first time a second ago, until `delay` later. */
const parkNew = async (outbox: Outbox<string>, now: number, delay: number): Promise<void> => {
  await outbox.append(`parked until ${String(now + delay)}`)
  const [entry] = await outbox.take(now, 1, 0)
  if (entry !== undefined) await outbox.park({ ...entry, firstAttemptAt: now - 1_000, progress }, now + delay)
}

const takeAt = async (outbox: Outbox<string>, now: number): Promise<Entry<string> | undefined> =>
  (await outbox.take(now, 1, 1))[0]

describe('a store whose machine had its clock set', () => {
  it('back by a day, hands out what was parked when it would have been due, with its deadline as far away', async () => {
    const path = folder()
    const ahead = openAt(path, NOON + 24 * HOUR)
    await parkNew(ahead.outbox, ahead.pass(5_000), 60_000)
    await ahead.outbox.close()

    const { outbox } = openAt(path, NOON)
    expect(outbox.nextDue()).toBe(NOON + 60_000)
    expect(await takeAt(outbox, NOON + 59_999)).toBeUndefined()
    expect((await takeAt(outbox, NOON + 60_000))?.firstAttemptAt).toBe(NOON - 1_000)
    await outbox.close()
  })

  it('and set right again, is none the worse for a life in which it was a day behind', async () => {
    const path = folder()
    const first = openAt(path, NOON)
    await parkNew(first.outbox, NOON, 60_000)
    await first.outbox.close()
    const behind = openAt(path, NOON - 24 * HOUR)
    const again = await takeAt(behind.outbox, behind.pass(60_000))
    if (again !== undefined) await behind.outbox.park(again, behind.pass(0) + 60_000)
    await behind.outbox.close()

    const { outbox } = openAt(path, NOON + HOUR)
    expect((await takeAt(outbox, NOON + HOUR))?.firstAttemptAt).toBe(NOON - 1_000)
    await outbox.close()
  })

  it('forward, counts the time in which nobody ran', async () => {
    const path = folder()
    const first = openAt(path, NOON)
    await parkNew(first.outbox, NOON, 60_000)
    await first.outbox.close()
    const { outbox } = openAt(path, NOON + 3 * HOUR)
    expect((await takeAt(outbox, NOON + 3 * HOUR))?.firstAttemptAt).toBe(NOON - 1_000)
    await outbox.close()
  })
})

interface Life {
  /** What the clock says when it begins, against noon. */
  readonly begins: number
  readonly delays: ReadonlyArray<number>
}

const lives: fc.Arbitrary<ReadonlyArray<Life>> = fc.array(
  fc.record({
    begins: fc.oneof(fc.integer({ min: -100 * HOUR, max: 100 * HOUR }), fc.integer({ min: 0, max: 10_000 })),
    delays: fc.array(fc.integer({ min: 0, max: HOUR }), { maxLength: 3 }),
  }),
  { minLength: 2, maxLength: 5, size: 'max' },
)

/** Whatever the clock says: a wait grows by nothing, and what ran is never due before its time. */
const law = (time: typeof storeTime) =>
  fc.property(lives, (all) => {
    let latest = 0
    const waits: Array<{ due: number; firstAttemptAt: number; left: number; age: number }> = []
    for (const { begins, delays } of all) {
      const now = NOON + begins
      const clock = { at: now }
      const store = time(latest, () => clock.at)
      for (const wait of waits) {
        const left = store.byClock(wait.due) - now
        const age = now - store.byClock(wait.firstAttemptAt)
        expect(left).toBeLessThanOrEqual(wait.left)
        expect(age).toBeGreaterThanOrEqual(wait.age)
        // What a wait became shorter by is what a deadline came nearer by.
        expect(wait.left - left).toBe(age - wait.age)
        // No more than the clock says that has passed, or nothing.
        expect(wait.left - left).toBe(Math.max(0, wait.left - (wait.due - now)))
      }
      for (const delay of delays) {
        clock.at += 100
        const [due, firstAttemptAt] = [store.inStore(clock.at + delay), store.inStore(clock.at)]
        expect([store.byClock(due), store.byClock(firstAttemptAt)]).toEqual([clock.at + delay, clock.at])
        waits.push({ due, firstAttemptAt, left: delay, age: 0 })
        latest = Math.max(latest, store.now())
      }
      // It is when something was parked last that a life is known to have been.
      if (delays.length === 0) continue
      for (const wait of waits) {
        wait.left = store.byClock(wait.due) - clock.at
        wait.age = clock.at - store.byClock(wait.firstAttemptAt)
      }
    }
  })

describe('the time of a store', () => {
  it('never goes back, in 1,000 histories', () => {
    fc.assert(law(storeTime), { numRuns: 1_000 })
  })

  it.each<[string, typeof storeTime]>([
    ['goes with the clock', (_, now) => storeTime(0, now)],
    ['goes on only from where it was', (latest, now) => storeTime(latest + 1, now)],
    [
      'stands still between two lives',
      (latest, now) => {
        const ahead = latest === 0 ? 0 : latest - now()
        return {
          ...storeTime(0, () => now() + ahead),
          inStore: (moment) => moment + ahead,
          byClock: (moment) => moment - ahead,
        }
      },
    ],
    ['stores by the clock', (latest, now) => ({ ...storeTime(latest, now), inStore: (moment) => moment })],
  ])('one that %s is caught', (name, time) => {
    const { failed } = fc.check(law(time), { numRuns: 2_000, endOnFailure: true })
    expect(failed, name).toBe(true)
  })
})
