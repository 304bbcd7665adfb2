/** Plays two processes on one server, on a virtual clock. */
import { left, right } from 'fp-ts/lib/Either.js'
import { retryable, refused } from '../../../src/core/failure.ts'
import type { Outcome } from '../../../src/core/outcome.ts'
import type { Totals } from '../../../src/core/totals.ts'
import type { Verdict } from '../../../src/core/failure.ts'
import { closeRelay } from '../../../src/outbox/close.ts'
import { relay } from '../../../src/outbox/relay.ts'
import type { Relay, RelayOptions } from '../../../src/outbox/relay.ts'
import { capDelay, exponential } from '../../../src/policy/retryPolicy.ts'
import { fromRun } from '../../../src/sink/layer.ts'
import type { Outbox } from '../../../src/outbox/outbox.ts'
import { seededRandom } from '../../../src/testing/random.ts'
import { virtualClock } from '../../../src/testing/virtualClock.ts'
import type { VirtualClock } from '../../../src/testing/virtualClock.ts'
import type { Server } from './Server.ts'
import { server } from './Server.ts'
import type { TableOutbox } from './tableOutbox.ts'
import { begin } from './Transaction.ts'
import { wire } from './wire.ts'
import type { Given, Trouble, World } from './worlds.ts'
import type { Wire } from './wire.ts'

/** An outbox that says who listens, and takes what is in a transaction of the host. */
export type Opened = Outbox<number> & Pick<TableOutbox<number>, 'append' | 'listeners'>

/** Where processes meet. */
export interface Place {
  /** A process opens its outbox. */
  readonly open: (name: string, over: Wire) => Opened
  /** A process is gone. */
  readonly gone: (name: string) => void
}

/** How a world is made: a store, and the relay over it. */
export interface Makes {
  readonly place: (on: Server<number>) => Place
  readonly relay?: (options: RelayOptions<number>) => Relay<number>
}

/** An attempt at an item, from its start to its verdict. */
export interface Ask {
  readonly item: number
  readonly by: number
  readonly from: number
  until: number
}

export interface Trace {
  /** Items that are in keeping for sure, and those of which nobody can say. */
  readonly kept: ReadonlyArray<number>
  readonly doubted: ReadonlyArray<number>
  readonly asks: ReadonlyArray<Ask>
  readonly ended: ReadonlyArray<{ readonly by: number; readonly outcome: Outcome<number> }>
  readonly samples: ReadonlyArray<Totals>
  /** Of those that are alive, when everything had ended, and after their close. */
  readonly atRest: ReadonlyArray<Totals>
  readonly left: {
    readonly rows: number
    readonly timersAtRest: number
    readonly timers: number
    readonly listeners: number
  }
}

const verdictOf = ({ busy, last }: Given, number: number): Verdict => {
  if (number <= busy) return left(retryable('status', { status: 503 }))
  return last === 'ok' ? right({ sink: 's', status: 200 }) : left(refused('status', { status: 404 }))
}

interface Process {
  readonly work: Relay<number>
  readonly outbox: Opened
  readonly over: Wire
  isAlive: boolean
}

/** Plays a world to its end. */
export const play = async (
  { items, troubles, maxInFlight, latency, seed }: World,
  { place: placeOn, relay: make = relay }: Makes,
): Promise<Trace> => {
  const clock: VirtualClock = virtualClock()
  const on = server<number>({ clock })
  const place = placeOn(on)
  const asks: Ask[] = []
  const ended: Array<Trace['ended'][number]> = []
  const samples: Totals[] = []
  const kept: number[] = []
  const doubted: number[] = []

  const start = (by: number): Process => {
    const every = troubles.flatMap((each) =>
      each.is === 'lostAnswers' && each.of === by ? [each.every] : [],
    )[0]
    let answers = 0
    // Not for ever, for a store whose answers never come has nothing to show.
    const loses = (): boolean => every !== undefined && ++answers < 24 && answers % every === 0
    const over = wire({ clock, latency, loses })
    const outbox = place.open(`p${by}`, over)
    const sink = fromRun<number>(
      's',
      (item, { number }, receiver) => {
        const script = items[item]
        if (script === undefined) throw new Error('an item that nobody gave')
        const ask: Ask = { item, by, from: clock.now(), until: Infinity }
        asks.push(ask)
        return clock.schedule(script.lasts, () => {
          ask.until = clock.now()
          receiver.next(verdictOf(script, number))
          receiver.complete()
        })
      },
      () => () => Promise.resolve(),
    )
    const work = make({
      sink,
      outbox,
      retry: capDelay(1_000)(exponential({ base: 100 })),
      clock,
      random: seededRandom(seed + by),
      maxInFlight,
      ended: (outcome) => {
        ended.push({ by, outcome })
      },
    })
    return { work, outbox, over, isAlive: true }
  }
  const processes = [start(0), start(1)]
  const alive = (): ReadonlyArray<Process> => processes.filter(({ isAlive }) => isAlive)

  const give = (item: number, { by, how }: Given): void => {
    const process = processes[by]
    if (process?.isAlive !== true) return
    if (how === 'sent') {
      Promise.resolve(process.work.offer(item)).then(
        ({ _tag }) => (_tag === 'Right' ? kept : []).push(item),
        () => doubted.push(item),
      )
      return
    }
    const within = begin()
    Promise.resolve(process.outbox.append(item, { within })).catch(() => undefined)
    clock.schedule(50, () => {
      if (how === 'rolledBack') {
        within.rollBack()
        return
      }
      within.commit()
      kept.push(item)
    })
  }
  const cause = (each: Trouble): void => {
    const process = processes[each.of]
    if (process === undefined || each.is === 'lostAnswers') return
    if (each.is === 'down') {
      process.over.down()
      clock.schedule(each.lasts, process.over.up)
      return
    }
    process.isAlive = false
    process.over.die()
    place.gone(`p${each.of}`)
    process.work.brake(() => undefined)
  }
  for (const [item, each] of items.entries())
    clock.schedule(each.at, () => {
      give(item, each)
    })
  for (const each of troubles)
    clock.schedule(each.is === 'lostAnswers' ? 0 : each.at, () => {
      cause(each)
    })
  const sample = (): void => {
    samples.push(...processes.map(({ work }) => work.totals()))
  }

  for (let passed = 0; passed < 8_000 || (on.rows.size > 0 && passed < 120_000); passed += 250) {
    await clock.advance(250)
    sample()
  }
  await clock.advance(10_000)
  sample()
  const atRest = alive().map(({ work }) => work.totals())
  const timersAtRest = clock.pending()
  for (const { work, outbox } of alive()) {
    const closing = closeRelay(work, { clock, within: 100, lastAttempt: 100 })
    await clock.advance(1_000)
    await closing
    const closed = outbox.close()
    await clock.advance(1_000)
    await closed
  }
  sample()
  const listeners = alive().reduce((sum, { outbox }) => sum + outbox.listeners(), 0)
  const unended = { rows: on.rows.size, timersAtRest, timers: clock.pending(), listeners }
  return { kept, doubted, asks, ended, samples, atRest, left: unended }
}
