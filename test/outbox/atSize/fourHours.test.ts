import { expect, it } from 'vitest'
import { folders, openHours } from './onDisk.ts'
import type { Hours, Witness } from './onDisk.ts'

const NIGHTLY = process.env['RUNS'] === '10000'
/** For each of the three receivers. */
const COUNT = NIGHTLY ? 33_334 : 200
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const START = Date.UTC(2026, 0, 1)
/** The four hours of DE4, and the longest pause of DE5. */
const WINDOW = 4 * HOUR
const LONGEST_PAUSE = 10 * MINUTE
/** The disk is waited for after so many milliseconds: what falls due within them is written together. */
const STEP = NIGHTLY ? 5_000 : MINUTE
/** How late an end may be seen: an answer takes its time too. */
const LATE = STEP + 5_000
/** Items come for so many minutes, so that their deadlines lie apart. */
const COMING = 30
const CRASH_AT = 100
const DOWNTIME = 25

interface Receiver {
  readonly name: string
  readonly takes: (sinceStart: number) => boolean
  /** Least and most that it takes of the items, as a part of them. */
  readonly delivered: readonly [number, number]
}

const receivers: ReadonlyArray<Receiver> = [
  { name: 'is down all along', takes: () => false, delivered: [0, 0] },
  { name: 'heals after two hours', takes: (at) => at >= 2 * HOUR, delivered: [1, 1] },
  // Well for ten seconds in every hour: it takes a few each time, and most die.
  { name: 'flaps', takes: (at) => Math.floor(at / 10_000) % 360 === 222, delivered: [0.01, 0.6] },
]

/** Keeps the books of what the receiver saw, and says at once what should not have been. */
const books = ({ takes }: Receiver) => {
  const first = new Map<number, number>()
  const known = new Set<number>()
  const ended = new Map<number, string>()
  let attempts = 0
  let crossed = 0
  const witness: Witness = {
    attempted: (item, { until }, at) => {
      attempts++
      if (ended.has(item)) throw new Error(`${item} is attempted after its end`)
      const began = first.get(item) ?? at
      first.set(item, began)
      if (until !== began + WINDOW)
        throw new Error(
          `the hours of ${item} count from ${until - WINDOW - began} ms after its first attempt`,
        )
      if (at >= until) throw new Error(`${item} is attempted ${at - until} ms after its deadline`)
      return takes(at - START)
    },
    stored: (item, firstAttemptAt) => {
      if (firstAttemptAt !== first.get(item)) throw new Error(`${item} is stored with another beginning`)
      known.add(item)
    },
    ended: (outcome, at) => {
      const { item, _tag } = outcome
      if (ended.has(item)) throw new Error(`${item} ends twice`)
      ended.set(item, _tag)
      if (_tag === 'Delivered') return
      const until = (first.get(item) ?? NaN) + WINDOW
      // It dies when no further attempt fits: not before the longest pause would reach beyond its deadline.
      if (!(at >= until - LONGEST_PAUSE && at <= until + LATE))
        throw new Error(`${item} ends as ${_tag} ${until - at} ms before its deadline`)
      if (_tag !== 'Expired') throw new Error(`${item} ends as ${_tag}`)
    },
  }
  return {
    witness,
    /** What was in its first attempt and not put back yet begins anew. */
    crash: () => {
      for (const item of first.keys()) {
        if (known.has(item)) crossed++
        else first.delete(item)
      }
    },
    ended: (tag: string) => [...ended.values()].filter((each) => each === tag).length,
    attempts: () => attempts,
    crossed: () => crossed,
  }
}

it.each(receivers)(
  `four hours, with a crash in them, of ${COUNT} entries on a disk and a receiver that $name`,
  async (receiver) => {
    const on = folders()
    const book = books(receiver)
    let hours = openHours(on.path(), START, 1, book.witness)
    let samples = 0
    let earlier = 0
    const sample = ({ totals, stats }: Hours): void => {
      const { accepted, delivered, rejected, expired, dropped, abandoned, waiting } = totals()
      expect(delivered + rejected + expired + dropped + abandoned + waiting).toBe(accepted)
      expect(stats()).toMatchObject({ waiting, bytes: waiting, dead: book.ended('Expired') })
      expect(book.ended('Delivered') + book.ended('Expired')).toBe(earlier + delivered + expired)
      samples++
    }
    let offered = 0
    const minutes = async (from: number, to: number): Promise<void> => {
      for (let minute = from; minute < to; minute++) {
        const share = Math.ceil((COUNT * Math.min(minute + 1, COMING)) / COMING)
        while (offered < share) hours.offer(offered++)
        await hours.pass(MINUTE, STEP)
        sample(hours)
      }
    }

    await minutes(0, CRASH_AT)
    expect(hours.totals().accepted).toBe(COUNT)
    on.crash()
    book.crash()
    earlier = COUNT - hours.totals().waiting
    await hours.end()
    hours = openHours(on.path(), hours.now() + DOWNTIME * MINUTE, 2, book.witness)
    expect(hours.totals().accepted).toBe(COUNT - earlier)
    await minutes(CRASH_AT + DOWNTIME, COMING + WINDOW / MINUTE + 2)

    const [least, most] = receiver.delivered
    const delivered = book.ended('Delivered')
    console.log(
      `${receiver.name}: ${delivered} delivered, ${book.ended('Expired')} expired, ${book.attempts()} attempts, ${book.crossed()} went on after the crash`,
    )
    expect(hours.stats()).toMatchObject({ waiting: 0, bytes: 0, dead: COUNT - delivered })
    expect(delivered + book.ended('Expired')).toBe(COUNT)
    expect(delivered).toBeGreaterThanOrEqual(least * COUNT)
    expect(delivered).toBeLessThanOrEqual(most * COUNT)
    expect(book.crossed()).toBeGreaterThan(COUNT / 2)
    expect(samples).toBeGreaterThan(200)
    // Nobody polls, and nobody asks for more than may be in a round, or for new ones where there are none.
    const { all, vain, most: page } = hours.looks()
    console.log(`${all} looks, ${vain} in vain, ${page} entries at most`)
    expect(vain).toBeLessThanOrEqual(all / 100)
    expect(page).toBeLessThanOrEqual(1_000)
    await hours.end()
  },
  NIGHTLY ? 3_600_000 : 60_000,
)
