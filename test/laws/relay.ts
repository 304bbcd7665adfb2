import * as fc from 'fast-check'
import type { Relay, RelayOptions } from '../../src/outbox/relay.ts'
import { play, world } from '../outbox/world.ts'
import type { Ask, Trace, World } from '../outbox/world.ts'

export type MakeRelay = (options: RelayOptions<number>) => Relay<number>

interface RelayLaw {
  readonly id: string
  /** What is wrong with a trace, or nothing. */
  readonly broken: (trace: Trace, world: World) => string | undefined
}

const of = (asks: ReadonlyArray<Ask>, item: number): ReadonlyArray<Ask> =>
  asks.filter((ask) => ask.item === item)

const SLOWEST_ANSWER = 5_000
const LONGEST_DELAY = 10_000

const laws: ReadonlyArray<RelayLaw> = [
  {
    id: 'every accepted item ends as exactly one outcome, crashes or not',
    broken: ({ ended, accepted }) => {
      const items = ended.map((outcome) => outcome.item)
      if (new Set(items).size !== items.length) return 'an item ended twice'
      return ended.length < accepted
        ? `${String(accepted)} accepted, ${String(ended.length)} ended`
        : undefined
    },
  },
  {
    id: 'nothing starts at or after the deadline, which counts from a first attempt',
    broken: ({ asks }, { within }) => {
      for (const ask of asks) {
        if (ask.at >= ask.until) return `started at ${String(ask.at)}, deadline ${String(ask.until)}`
        const first = of(asks, ask.item).some(
          (other) => other.number === 1 && other.at === ask.until - within,
        )
        if (!first) return 'a deadline that counts from no first attempt'
      }
      return undefined
    },
  },
  {
    id: 'no URL is asked again after a remembered refusal',
    broken: ({ asks }) => {
      // A crash repeats the round it interrupted: what was stored is the last answer of a round.
      const stored = new Map(asks.map((ask) => [[ask.item, ask.url, ask.number].join(), ask]))
      const refusals = [...stored.values()].filter((ask) => ask.answer === 'refuse')
      const again = refusals.find((no) =>
        of(asks, no.item).some((ask) => ask.url === no.url && ask.number > no.number),
      )
      return again === undefined ? undefined : `url ${String(again.url)} was asked again`
    },
  },
  {
    id: 'no round starts after a success',
    broken: ({ asks }) => {
      const successes = asks.filter((ask) => ask.answer === 'ok')
      const later = successes.some((yes) =>
        of(asks, yes.item).some((ask) => ask.life === yes.life && ask.number > yes.number),
      )
      return later ? 'a later round' : undefined
    },
  },
  {
    id: 'the accounting holds at every sample, and agrees with the store',
    broken: ({ samples }) => {
      for (const { totals, stored } of samples) {
        const { accepted, delivered, rejected, expired, dropped, abandoned, waiting } = totals
        if (accepted !== delivered + rejected + expired + dropped + abandoned + waiting)
          return JSON.stringify(totals)
        if (waiting !== stored) return `${String(waiting)} waiting, ${String(stored)} stored`
      }
      return undefined
    },
  },
  {
    id: 'no more are in a round than allowed',
    broken: ({ samples }, { maxInFlight }) => {
      const most = Math.max(...samples.map((sample) => sample.maxInFlight))
      return most > maxInFlight ? `${String(most)} in a round, ${String(maxInFlight)} allowed` : undefined
    },
  },
  {
    id: 'a verdict is earned: delivered by a yes, rejected by a no of each, expired not before its time',
    broken: ({ ended, asks }, { urls, items, maxInFlight }) => {
      // Where retries wait for a slot, they may expire in that wait.
      const roomForAll = Math.floor(maxInFlight / 2) >= items.length
      for (const { _tag, item } of ended) {
        const mine = of(asks, item)
        const answers = new Set(mine.map((ask) => ask.answer))
        if (_tag === 'Delivered' && !answers.has('ok')) return 'delivered without a yes'
        if (
          _tag === 'Rejected' &&
          urls.some((_, url) => !mine.some((ask) => ask.url === url && ask.answer === 'refuse'))
        )
          return 'rejected without a no of each'
        const last = mine.at(-1)
        if (
          roomForAll &&
          _tag === 'Expired' &&
          last !== undefined &&
          last.at + SLOWEST_ANSWER + LONGEST_DELAY < last.until
        )
          return 'expired too early'
      }
      return undefined
    },
  },
  {
    id: 'at rest no timer is left',
    broken: ({ timersLeft }) => (timersLeft === 0 ? undefined : `${String(timersLeft)} timers left`),
  },
]

/** Situations that the worlds must reach, or the laws test little. */
export interface Reached {
  worlds: number
  crashInRound: number
  delivered: number
  rejected: number
  expired: number
  remembered: number
  defects: number
  slowStore: number
}

export const nothingReached = (): Reached => ({
  worlds: 0,
  crashInRound: 0,
  delivered: 0,
  rejected: 0,
  expired: 0,
  remembered: 0,
  defects: 0,
  slowStore: 0,
})

const note = (reached: Reached, trace: Trace, { latency }: World): void => {
  const has = (tag: string): number => (trace.ended.some((outcome) => outcome._tag === tag) ? 1 : 0)
  const lives = new Set(trace.asks.map((ask) => ask.life)).size
  reached.worlds++
  reached.crashInRound += lives > 1 ? 1 : 0
  reached.delivered += has('Delivered')
  reached.rejected += has('Rejected')
  reached.expired += has('Expired')
  reached.remembered += trace.asks.some(
    (no) => no.answer === 'refuse' && of(trace.asks, no.item).some((ask) => ask.number > no.number),
  )
    ? 1
    : 0
  reached.defects += trace.asks.some((ask) => ask.answer === 'defect') ? 1 : 0
  reached.slowStore += latency > 0 ? 1 : 0
}

/** All laws on one world; a violation names its law. */
export const relayLaws = (make: MakeRelay, reached: Reached = nothingReached()): fc.IAsyncProperty<[World]> =>
  fc.asyncProperty(world, async (each) => {
    const trace = await play(each, make)
    note(reached, trace, each)
    for (const law of laws) {
      const what = law.broken(trace, each)
      if (what !== undefined) throw new Error(`${law.id}: ${what}`)
    }
  })
