import * as fc from 'fast-check'
import { bodyOf } from '../../src/event/payload.ts'
import { isPoison, LEFT_ALONE } from '../client/server.ts'
import { play, world } from '../client/world.ts'
import type { OpenClient, Trace, World } from '../client/world.ts'
import { batchLaws } from './clientBatches.ts'
import { note, nothingReached } from './clientReach.ts'
import type { Reached } from './clientReach.ts'

export interface ClientLaw {
  readonly id: string
  /** What is wrong with a trace, or nothing. */
  readonly broken: (trace: Trace, world: World) => string | undefined
}

const accepted = ({ sent }: Trace): ReadonlyArray<string> =>
  sent.filter(({ answer }) => answer === 'Accepted').map(({ id }) => id)

const same = (some: ReadonlyArray<string>, others: ReadonlyArray<string>): boolean =>
  some.toSorted().join() === others.toSorted().join()

/** Whether the message was in a request that its endpoint took, in whole or for that member. */
const wasTaken = ({ calls }: Trace, id: string): boolean =>
  calls.some(
    ({ item, verdictAt, ended }) => verdictAt !== undefined && ended !== 'failed' && hasMember(item, id),
  )

const attemptOf = ({ item, attempt }: Trace['calls'][number]): string =>
  `${item.id} ${String(attempt.number)}`

const hasMember = (batch: Trace['calls'][number]['item'], id: string): boolean =>
  batch.members.some((message) => message.id === id)

const laws: ReadonlyArray<ClientLaw> = [
  {
    id: 'P1: what was accepted has exactly one outcome once it is closed, and nothing else has one',
    broken: (trace) => {
      const ids = trace.told.map(({ outcome }) => outcome.item.id)
      if (trace.closing === undefined) return 'it never closed'
      if (!same(trace.accepted, accepted(trace))) return 'it told of other messages than it accepted'
      return same(ids, accepted(trace))
        ? undefined
        : `${String(accepted(trace).length)} accepted, ${String(ids.length)} ended`
    },
  },
  {
    id: 'the accounts hold inside each callback, and agree with what was told',
    broken: ({ told, closing, requests, calls, attempts, attempted }) => {
      if (told.some(({ missing }) => missing !== 0)) return 'an account that does not add up'
      const count = (tag: string): number => told.filter(({ outcome }) => outcome._tag === tag).length
      const totals = closing?.totals
      if (requests !== calls.length || attempts !== attempted)
        return 'requests or attempts that were not counted'
      return totals?.accepted === told.length &&
        totals.waiting === 0 &&
        totals.delivered === count('Delivered') &&
        totals.rejected === count('Rejected') &&
        totals.expired === count('Expired') &&
        totals.dropped === count('Dropped') &&
        totals.abandoned === count('Abandoned')
        ? undefined
        : 'other totals than outcomes'
    },
  },
  {
    id: 'what is handed back is what was abandoned',
    broken: ({ told, closing }) => {
      const abandoned = told.flatMap(({ outcome }) => (outcome._tag === 'Abandoned' ? [outcome.item.id] : []))
      return same(abandoned, closing?.abandoned.map(({ id }) => id) ?? []) ? undefined : 'something else'
    },
  },
  {
    id: 'P6: a body has the bytes that were said, and is the JSON of its messages',
    broken: ({ calls }) => {
      for (const { item } of calls) {
        const body = bodyOf(item, 0)
        if (Buffer.byteLength(body) !== item.byteLength) return 'other bytes'
        const { batch } = JSON.parse(body) as {
          readonly batch: ReadonlyArray<{ readonly messageId: string }>
        }
        if (batch.map(({ messageId }) => messageId).join() !== item.members.map(({ id }) => id).join())
          return 'other messages'
      }
      return undefined
    },
  },
  {
    id: 'P7: an outcome is earned: delivered was taken, and what was taken is never sent again',
    broken: (trace) => {
      for (const { outcome } of trace.told) {
        const { id } = outcome.item
        if (outcome._tag === 'Delivered' && !wasTaken(trace, id)) return `${id} was delivered by nobody`
        if (outcome._tag === 'Rejected' && !wasTaken(trace, id)) return `${id} was rejected by nobody`
        const later = trace.calls.some(
          ({ item, attempt }) => hasMember(item, id) && attempt.number > outcome.attempts + 1,
        )
        if (later) return `${id} was tried more often than was counted`
      }
      return undefined
    },
  },
  {
    id: 'P7: no request starts at or after the deadline of its batch, and each has its time and not more',
    broken: ({ calls }, { within, timeout }) => {
      const first = new Map<string, number>()
      for (const { item, startedAt, endedAt } of calls) {
        const firstAttemptAt = first.get(item.id) ?? startedAt
        first.set(item.id, firstAttemptAt)
        if (startedAt - firstAttemptAt >= within)
          return `a request ${String(startedAt - firstAttemptAt)} ms after the first`
        if ((endedAt ?? Infinity) - startedAt > timeout) return 'a request that went on'
      }
      return undefined
    },
  },
  {
    id: 'P7: a Retry-After holds back every request until its moment',
    broken: ({ calls }, { script, timeout }) => {
      for (const [at, { verdictAt, startedAt }] of calls.entries()) {
        const step = script[Math.min(at, script.length - 1)]
        if (step?.answer !== 'wait' || verdictAt === undefined || verdictAt - startedAt >= timeout) continue
        // What runs already runs on: the halves of a batch belong to the attempt that began before.
        const begun = new Set(calls.filter((other) => other.startedAt <= verdictAt).map(attemptOf))
        const later = calls.filter((other) => !begun.has(attemptOf(other)))
        if (later.some((other) => other.startedAt < verdictAt + LEFT_ALONE))
          return `a request within ${String(LEFT_ALONE)} ms`
      }
      return undefined
    },
  },
  {
    id: 'one bad message costs one message',
    broken: ({ told }, { script }) => {
      // Of these steps the answer depends on nothing but the messages in the request.
      if (script.some(({ answer }) => answer !== 'ok' && answer !== 'few')) return undefined
      const wrong = told.find(({ outcome: { _tag, item } }) => _tag === 'Rejected' && !isPoison(item.id))
      return wrong && `${wrong.outcome.item.id} was rejected with its neighbour`
    },
  },
  {
    id: 'P8: what is accepted and not ended keeps its bounds, and so do the requests',
    broken: ({ mostWaiting, mostBytes, mostRunning }, { maxCount, maxBytes, concurrency }) => {
      if (mostWaiting > maxCount) return `${String(mostWaiting)} messages`
      if (mostBytes > maxBytes) return `${String(mostBytes)} bytes`
      return mostRunning > concurrency ? `${String(mostRunning)} requests at a time` : undefined
    },
  },
  {
    id: 'only an overflow policy drops, only the door refuses, and only a close abandons',
    broken: ({ told, sent, closeAsked }, { overflow }) => {
      const kinds = new Set(told.map(({ outcome }) => outcome._tag))
      if (overflow === 'error' && kinds.has('Dropped')) return 'a drop'
      if (overflow !== 'error' && sent.some(({ answer, onDrop }) => answer === 'Full' && !onDrop))
        return 'a refusal for want of room'
      if (sent.some(({ answer, at }) => answer === 'Closed' && at < closeAsked)) return 'closed too early'
      return told.some(({ outcome, at }) => outcome._tag === 'Abandoned' && at < closeAsked)
        ? 'something abandoned before the close'
        : undefined
    },
  },
  {
    id: 'a flush resolves when what was accepted before it has ended, or at its timeout, and not later',
    broken: ({ flushed, flushes, told, closedAt }) => {
      if (flushed.length !== flushes) return 'a flush that never resolved'
      const endedAt = new Map(told.map(({ at, outcome }) => [outcome.item.id, at]))
      for (const { asked, open, timeout, at, totals } of flushed) {
        const last = Math.max(asked, ...open.map((id) => endedAt.get(id) ?? Infinity))
        const due = Math.min(last, asked + (timeout ?? Infinity), Math.max(asked, closedAt))
        if (at !== due) return `asked at ${String(asked)}, due at ${String(due)}, resolved at ${String(at)}`
        const { accepted: all, delivered, rejected, expired, dropped, abandoned, waiting } = totals
        if (all !== delivered + rejected + expired + dropped + abandoned + waiting) return 'wrong totals'
      }
      return undefined
    },
  },
  {
    id: 'a close keeps its time, and afterwards nothing runs, starts or waits',
    broken: ({ calls, closedAt, running, timersLeft }, { closeAt, closeWithin, timeout, outbox }) => {
      // A store on disk is waited for too.
      const patience = outbox === 'own' || outbox === 'memory' ? 0 : timeout + 1_000
      if (closedAt > closeAt + closeWithin + timeout + patience) return `closed only at ${String(closedAt)}`
      if (running > 0 || timersLeft > 0) return `${String(running)} requests, ${String(timersLeft)} timers`
      return calls.some(({ startedAt }) => startedAt > closedAt) ? 'a start after the close' : undefined
    },
  },
  ...batchLaws,
]

/** One property that holds all laws, so that a world is played once. */
export const clientLaws = (
  open: OpenClient,
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
