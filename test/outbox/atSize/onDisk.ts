/**
 * A relay over an outbox on a disk, in simulated time. The disk is a real one and answers when it has synced, so the time stands still until
 * it has answered everything.
 */
import { left, right } from 'fp-ts/lib/Either.js'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { isPromiseLike, whenSettled } from '../../../src/core/awaitable.ts'
import type { Awaitable } from '../../../src/core/awaitable.ts'
import { withTimeout } from '../../../src/sink/timeout.ts'
import { retryable } from '../../../src/core/failure.ts'
import type { Outcome } from '../../../src/core/outcome.ts'
import type { Totals } from '../../../src/core/totals.ts'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import { relay } from '../../../src/outbox/relay.ts'
import { standard } from '../../../src/policy/retryPolicy.ts'
import type { Outbox, OutboxStats } from '../../../src/outbox/outbox.ts'
import { fromRun } from '../../../src/sink/layer.ts'
import type { Attempt } from '../../../src/sink/sink.ts'
import { seededRandom } from '../../../src/testing/random.ts'
import { virtualClock } from '../../../src/testing/virtualClock.ts'
import { folder } from './folder.ts'

/** The receiver takes so long to say what it says. */
const ANSWERS_AFTER = 900

const codec = { toText: String, fromText: Number, sizeOf: () => 1 }

/** A folder for each life: a crash is played by a copy of the data as it lies there, which is what a killed process leaves. */
export interface Folders {
  readonly path: () => string
  readonly crash: () => void
}

export const folders = (): Folders => {
  const root = folder()
  let life = 0
  const path = (): string => join(root, String(life))
  return {
    path,
    crash: () => {
      const before = path()
      life++
      mkdirSync(path())
      copyFileSync(join(before, 'data.mdb'), join(path(), 'data.mdb'))
    },
  }
}

/** Who looks on. */
export interface Witness {
  /** An attempt begins. Answers whether the receiver will take it. */
  readonly attempted: (item: number, attempt: Attempt, at: number) => boolean
  /** The store has it that the first attempt of an item began then. */
  readonly stored: (item: number, firstAttemptAt: number | undefined) => void
  readonly ended: (outcome: Outcome<number>, at: number) => void
}

/** One life of a process. */
export interface Hours {
  /** Milliseconds since 1970, simulated. */
  readonly now: () => number
  readonly offer: (item: number) => void
  /** Moves the time by so many milliseconds, and has the disk answer everything after each `step` of them. */
  readonly pass: (ms: number, step: number) => Promise<void>
  readonly totals: () => Totals
  readonly stats: () => OutboxStats
  readonly looks: () => Looks
  /** Ends it as it stands, and lets go of the file. */
  readonly end: () => Promise<void>
}

/** How often the store was asked for what is due. */
export interface Looks {
  readonly all: number
  /** Those that brought nothing. */
  readonly vain: number
  /** The most that one of them brought. */
  readonly most: number
}

/** Counts what the store was asked and has not answered. */
const counted = (outbox: Outbox<number>, stored: Witness['stored']) => {
  let open = 0
  let looks: Looks = { all: 0, vain: 0, most: 0 }
  const look = (found: number): void => {
    const { all, vain, most } = looks
    looks = { all: all + 1, vain: vain + (found === 0 ? 1 : 0), most: Math.max(most, found) }
  }
  const count = <T>(answer: Awaitable<T>): Awaitable<T> => {
    if (!isPromiseLike(answer)) return answer
    open++
    const close = (): void => {
      open--
    }
    answer.then(close, close)
    return answer
  }
  const through: Outbox<number> = {
    ...outbox,
    enqueue: (items) => count(outbox.enqueue(items)),
    lease: (...asked) => {
      const answer = outbox.lease(...asked)
      whenSettled(
        answer,
        ({ length }) => {
          look(length)
        },
        () => undefined,
      )
      return count(answer)
    },
    nack: (list) =>
      count(
        Promise.resolve(outbox.nack(list)).then(() => {
          for (const { entry } of list) stored(entry.item, entry.firstAttemptAt)
        }),
      ),
    ack: (list) => count(outbox.ack(list)),
  }
  return { outbox: through, open: () => open, looks: () => looks }
}

/** Opens the outbox in `path` at `start`, and works it. */
export const openHours = (path: string, start: number, seed: number, witness: Witness): Hours => {
  const clock = virtualClock({ start })
  const stored = lmdbOutbox<number>({ path, codec, clock, keepDead: 1_000_000 })
  const { outbox, open, looks } = counted(stored, witness.stored)
  const receiver = fromRun<number>(
    'receiver',
    (item, attempt, to) => {
      const takes = witness.attempted(item, attempt, clock.now())
      return clock.schedule(ANSWERS_AFTER, () => {
        to.next(takes ? right({ sink: 'receiver' }) : left(retryable('status', { status: 503 })))
        to.complete()
      })
    },
    () => () => Promise.resolve(),
  )
  const work = relay<number>({
    sink: withTimeout(5_000, { clock })(receiver),
    outbox,
    retry: standard,
    clock,
    random: seededRandom(seed),
    maxInFlight: 1_000,
    ended: (outcome) => {
      witness.ended(outcome, clock.now())
    },
  })
  const answered = async (): Promise<void> => {
    do await clock.settle()
    while (open() > 0)
  }
  return {
    now: clock.now,
    offer: (item) => {
      void work.offer(item)
    },
    pass: async (ms, step) => {
      for (let passed = 0; passed < ms; passed += step) {
        clock.tick(Math.min(step, ms - passed))
        await answered()
      }
    },
    totals: work.totals,
    stats: stored.stats,
    looks,
    end: stored.close,
  }
}
