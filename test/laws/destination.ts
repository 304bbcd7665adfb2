import * as fc from 'fast-check'
import type { Event } from '../../src/event/event.ts'
import type { Payload } from '../../src/event/payload.ts'
import type { Call } from '../../src/testing/scriptedSink.ts'
import { play, world } from '../destination/world.ts'
import type { OpenDestination, Trace, World } from '../destination/world.ts'

interface DestinationLaw {
  readonly id: string
  /** What is wrong with a trace, or nothing. */
  readonly broken: (trace: Trace, world: World) => string | undefined
}

type Request = Call<Payload<Event>>

const requestsOf = ({ calls }: Trace, id: string): ReadonlyArray<Request> =>
  calls.flat().filter(({ item }) => item.id === id)

const laws: ReadonlyArray<DestinationLaw> = [
  {
    id: 'what was sent was refused, or has exactly one outcome once it is closed',
    broken: ({ told, sent, refused, closing }) => {
      const ids = told.map(({ outcome }) => outcome.item.id)
      if (new Set(ids).size !== ids.length) return 'an event ended twice'
      if (closing === undefined) return 'it never closed'
      if (closing.totals.waiting !== 0) return 'something waits in memory after the close'
      return ids.length + refused === sent ? undefined : `${String(sent)} sent, ${String(ids.length)} ended`
    },
  },
  {
    id: 'the accounts hold inside each callback, and agree with what was told',
    broken: ({ told, closing }) => {
      if (told.some(({ missing }) => missing !== 0)) return 'an account that does not add up'
      const count = (tag: string): number => told.filter(({ outcome }) => outcome._tag === tag).length
      const totals = closing?.totals
      const same =
        totals?.delivered === count('Delivered') &&
        totals.rejected === count('Rejected') &&
        totals.expired === count('Expired') &&
        totals.abandoned === count('Abandoned')
      return same ? undefined : 'other totals than outcomes'
    },
  },
  {
    id: 'what is handed back is what was abandoned',
    broken: ({ told, closing }) => {
      const abandoned = told.flatMap(({ outcome }) => (outcome._tag === 'Abandoned' ? [outcome.item.id] : []))
      const back = closing?.abandoned.map(({ id }) => id) ?? []
      return abandoned.toSorted().join() === back.toSorted().join() ? undefined : 'something else'
    },
  },
  {
    id: 'a URL has at most so many requests at a time',
    broken: ({ mostRunning }, { concurrency }) =>
      mostRunning.some((most) => most > concurrency)
        ? `${String(Math.max(...mostRunning))} at a time`
        : undefined,
  },
  {
    id: 'a request has its time, and not more',
    broken: ({ calls }, { timeout }) =>
      calls.flat().some(({ startedAt, endedAt }) => (endedAt ?? Infinity) - startedAt > timeout)
        ? 'one that went on'
        : undefined,
  },
  {
    id: 'nothing starts at or after its deadline',
    broken: (trace, { within }) => {
      for (const { outcome } of trace.told) {
        const starts = requestsOf(trace, outcome.item.id).map(({ startedAt }) => startedAt)
        // The windows of siblings begin with their round, before the first of them has left its lane.
        if (Math.max(...starts) - Math.min(...starts) >= within)
          return `${outcome.item.id} after its deadline`
      }
      return undefined
    },
  },
  {
    id: 'an outcome is earned, and no round follows it',
    broken: (trace, { urls }) => {
      for (const { outcome } of trace.told) {
        const mine = requestsOf(trace, outcome.item.id)
        if (
          mine.some(
            ({ attempt }) => attempt.number > outcome.attempts + (outcome._tag === 'Abandoned' ? 1 : 0),
          )
        )
          return 'a round after the end, or attempts that were not counted'
        const taken = mine.some(
          ({ item: _, ended, verdictAt }) => ended !== 'failed' && verdictAt !== undefined,
        )
        if (outcome._tag === 'Delivered' && !taken) return 'delivered by nobody'
        const refusing = trace.calls.filter((calls) =>
          calls.some(({ item }) => item.id === outcome.item.id),
        ).length
        if (outcome._tag === 'Rejected' && refusing < urls.length) return 'rejected by some'
      }
      return undefined
    },
  },
  {
    id: 'in order: an event starts only when the one before it with its key has its outcome',
    broken: (trace, { events, ordered }) => {
      if (!ordered) return undefined
      const endedAt = new Map(trace.told.map(({ at, outcome }) => [outcome.item.id, at]))
      const last = new Map<string, number>()
      const accepted = [...events.entries()]
        .filter(([n]) => endedAt.has(`m${String(n)}`))
        .toSorted(([n, a], [m, b]) => a.at - b.at || n - m)
      for (const [n, { user }] of accepted) {
        const id = `m${String(n)}`
        const before = last.get(user) ?? 0
        if (requestsOf(trace, id).some(({ startedAt }) => startedAt < before)) return `${id} overtakes`
        last.set(user, endedAt.get(id) ?? 0)
      }
      return undefined
    },
  },
  {
    id: 'a close keeps its time, and afterwards nothing runs, starts or waits',
    broken: ({ calls, closedAt, running, timersLeft }, { closeAt, closeWithin, timeout }) => {
      if (closedAt > closeAt + closeWithin + timeout) return `closed only at ${String(closedAt)}`
      if (running > 0 || timersLeft > 0) return `${String(running)} requests, ${String(timersLeft)} timers`
      return calls.flat().some(({ startedAt }) => startedAt > closedAt)
        ? 'a start after the close'
        : undefined
    },
  },
  {
    id: 'each request that had a verdict is counted for its URL',
    broken: ({ calls, counted }) => {
      for (const [at, requests] of calls.entries()) {
        const verdicts = requests.filter(({ verdictAt }) => verdictAt !== undefined).length
        // A timeout is a verdict too, though not the URL's own.
        if ((counted[`url${String(at)}`] ?? 0) < verdicts) return 'one was not counted'
      }
      return undefined
    },
  },
]

/** Situations that the worlds must reach, or the laws test little. */
export interface Reached {
  worlds: number
  delivered: number
  rejected: number
  expired: number
  abandoned: number
  refused: number
  orderedPairs: number
  timedOut: number
}

export const nothingReached = (): Reached => ({
  worlds: 0,
  delivered: 0,
  rejected: 0,
  expired: 0,
  abandoned: 0,
  refused: 0,
  orderedPairs: 0,
  timedOut: 0,
})

const note = (reached: Reached, { told, calls, refused }: Trace, { ordered, timeout }: World): void => {
  const has = (tag: string): number => (told.some(({ outcome }) => outcome._tag === tag) ? 1 : 0)
  reached.worlds++
  reached.delivered += has('Delivered')
  reached.rejected += has('Rejected')
  reached.expired += has('Expired')
  reached.abandoned += has('Abandoned')
  reached.refused += refused > 0 ? 1 : 0
  reached.orderedPairs += ordered && told.length > 3 ? 1 : 0
  reached.timedOut += calls.flat().some(({ startedAt, endedAt }) => endedAt === startedAt + timeout) ? 1 : 0
}

/** One property that holds all laws, so that a world is played once. */
export const destinationLaws = (
  open: OpenDestination,
  reached: Reached = nothingReached(),
): fc.IAsyncProperty<[World]> =>
  fc.asyncProperty(world, async (given) => {
    const trace = await play(given, open)
    note(reached, trace, given)
    for (const { id, broken } of laws) {
      const wrong = broken(trace, given)
      if (wrong !== undefined) throw new Error(`${id}: ${wrong}`)
    }
  })
