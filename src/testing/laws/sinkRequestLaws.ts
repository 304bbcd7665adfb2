import * as fc from 'fast-check'
import { take } from 'rxjs'
import { earliestRetry, isRetryable, isVerdict } from '../../core/failure.ts'
import type { Verdict } from '../../core/failure.ts'
import { onlyAttempt } from '../../sink/sink.ts'
import { meaningOf, retryAfter, type StatusTable } from '../../sink/status.ts'
import { effectOf } from '../faults.ts'
import type { NetworkCall } from '../network.ts'
import { holds } from './assert.ts'
import { law, lawsOver, type Law, type Run } from './law.ts'
import { openSink, sinkInputs } from './sinkWorld.ts'
import type { Delivery, MakeSink, SinkInput } from './sinkWorld.ts'

/** What the network did with a request, or what a verdict says. `failed`: not delivered; to be tried again or not. */
type Meaning = 'delivered' | 'retryable' | 'refused' | 'failed'

const ANY_URL = 'http://receiver.test/'

const meaningOfCall = ({ ended, fault }: NetworkCall, statuses: StatusTable): Meaning => {
  const effect = effectOf(fault, ANY_URL)
  if (ended !== 'answered' || effect.what !== 'answer') return fault.do === 'tls' ? 'failed' : 'retryable'
  const means = meaningOf(statuses, effect.status)
  // A redirect, a 408 and a 425 are read in different ways.
  if (means === 'redirect' || [408, 425].includes(effect.status)) return 'failed'
  return means === 'retry' ? 'retryable' : means
}

const meaningOfVerdict = (verdict: Verdict): Meaning => {
  if (verdict._tag === 'Right') return 'delivered'
  return isRetryable(verdict.left) ? 'retryable' : 'refused'
}

/** A delivery that had the network for itself. */
interface Alone {
  readonly delivery: Delivery
  readonly verdict: Verdict | undefined
  readonly calls: ReadonlyArray<NetworkCall>
  /** Requests of the deliveries before it. */
  readonly sent: number
}

interface Trace {
  readonly all: ReadonlyArray<Alone>
  /** The wall clock at the start. */
  readonly start: number
}

/** Delivers one item after the other. */
const playAlone = async <A>(
  make: MakeSink<A>,
  given: SinkInput<A>,
  timeout: number,
  run: Run,
): Promise<Trace> => {
  const { clock, network, deliver } = openSink(make, given, run)
  const start = clock.now()
  const all: Alone[] = []
  for (const { item } of given.steps) {
    const sent = network.calls.length
    const delivery = deliver(item)
    await clock.advance(timeout)
    const verdict = delivery.told.map(({ value }) => value).find(isVerdict)
    all.push({ delivery, verdict, calls: network.calls.slice(sent), sent })
  }
  return { all, start }
}

/** Until when the last answer asked to wait, on the wall clock; undefined if it did not. */
const askedUntil = (calls: ReadonlyArray<NetworkCall>, start: number): number | undefined => {
  const last = calls.at(-1)
  const effect = last?.ended === 'answered' ? effectOf(last.fault, ANY_URL) : undefined
  const answeredAt = start + (last?.endedAt ?? 0)
  const header = effect?.what === 'answer' ? effect.headers['retry-after'] : undefined
  const wait = retryAfter(header, answeredAt)
  return wait === undefined ? undefined : answeredAt + wait
}

const faultsOf = (calls: ReadonlyArray<NetworkCall>): string =>
  calls.length === 0
    ? 'nothing, no request was sent'
    : calls.map(({ fault }) => JSON.stringify(fault)).join(', ')

/** Verdict and network do not go together. */
const conflict = (verdict: Verdict, calls: ReadonlyArray<NetworkCall>): string =>
  `the network did ${faultsOf(calls)}; the verdict is ${JSON.stringify(verdict)}`

/** Requests that ran at `at` must have ended then, and none may begin. One that is aborted before it begins is none. */
const holdsStopped = (calls: ReadonlyArray<NetworkCall>, sent: number, at: number): void => {
  for (const { endedAt } of calls.slice(0, sent))
    holds(
      (endedAt ?? Infinity) <= at,
      `a request ran on until ${String(endedAt ?? 'the end')}, not ${String(at)} ms`,
    )
  const begun = calls.slice(sent).filter(({ ended }) => ended !== 'cancelled').length
  holds(begun === 0, `${String(begun)} requests began after ${String(at)} ms`)
}

/** Laws about requests and verdicts, for sinks that use the network of their world. */
export const sinkRequestLaws = <A>(
  make: MakeSink<A>,
  item: fc.Arbitrary<A>,
  timeout: number,
  statuses: StatusTable,
): ReadonlyArray<Law> => {
  const input = sinkInputs(item, true, false)

  /** The law for deliveries whose requests were all answered with this meaning. */
  const says = (meaning: Meaning, statement: string) => ({
    statement,
    situations: [meaning],
    check: ({ all }: Trace, _: SinkInput<A>, { reach }: Run): void => {
      for (const { verdict, calls } of all) {
        const isMeant = calls.every((call) => meaningOfCall(call, statuses) === meaning)
        if (verdict === undefined || calls.length === 0 || !isMeant) continue
        reach(meaning)
        holds(meaningOfVerdict(verdict) === meaning, conflict(verdict, calls))
      }
    },
  })

  return [
    ...lawsOver('sink', input, (given, run) => playAlone(make, given, timeout, run), {
      'accepted-is-delivered': says('delivered', 'What the receiver accepted with a 2xx is delivered.'),
      'failed-is-retryable': says(
        'retryable',
        'After a 5xx, a 429, a timeout or a fault of the network the item may be tried again.',
      ),
      'refused-is-final': says('refused', 'A 4xx is final, except 429; for 408 and 425 the sink may decide.'),
      'delivered-was-accepted': {
        statement: 'Nothing is delivered but what the receiver accepted with a 2xx.',
        situations: ['not accepted'],
        check: ({ all }, _, { reach }) => {
          for (const { verdict, calls } of all) {
            if (calls.some((call) => meaningOfCall(call, statuses) === 'delivered')) continue
            reach('not accepted')
            const isRepeat = verdict?._tag === 'Right' && verdict.right.duplicate === true
            if (verdict?._tag === 'Right' && !isRepeat) throw new Error(conflict(verdict, calls))
          }
        },
      },
      'completes-last': {
        statement:
          'A delivery completes when none of its requests runs any more, and none begins afterwards.',
        check: ({ all }) => {
          for (const { delivery, sent, calls } of all) {
            const end = delivery.told.find(({ what }) => what === 'complete')
            if (end === undefined) continue
            holds(end.running === 0, 'it completed while a request ran')
            holds(end.sent === sent + calls.length, 'a request began after it completed')
          }
        },
      },
      'retry-after': {
        statement:
          'What a Retry-After asks for, in seconds or as a date, is told as notBefore, or a second later at most.',
        situations: ['asked to wait'],
        check: ({ all, start }, _, { reach }) => {
          for (const { verdict, calls } of all) {
            const until = askedUntil(calls, start)
            if (until === undefined || verdict?._tag !== 'Left' || !isRetryable(verdict.left)) continue
            reach('asked to wait')
            const told = earliestRetry(verdict.left) ?? 0
            holds(
              told >= until && told <= until + 1_000,
              `${conflict(verdict, calls)}, asked until ${String(until)}`,
            )
          }
        },
      },
    }),

    law({
      id: 'sink/cold',
      statement: 'Nothing is sent before a delivery is subscribed.',
      input,
      situations: ['a request was sent'],
      check: async (given, run) => {
        const { clock, network, sink } = openSink(make, given, run)
        const deliveries = given.steps.map(({ item: each }) => sink.deliver(each, onlyAttempt))
        await clock.advance(timeout)
        holds(network.calls.length === 0, 'a request was sent before a delivery was subscribed')
        deliveries[0]?.subscribe({ error: () => undefined })
        await clock.advance(timeout)
        if (network.calls.length > 0) run.reach('a request was sent')
      },
    }),

    law({
      id: 'sink/cancel-aborts',
      statement: 'A cancel aborts the requests that run, at its moment, and none begins afterwards.',
      input: fc.tuple(fc.nat(60), input),
      situations: ['a request ran'],
      check: async ([at, given], run) => {
        const { clock, network, deliver } = openSink(make, given, run)
        const deliveries = given.steps.map(({ item: each }) => deliver(each))
        await clock.advance(at)
        const sent = network.calls.length
        if (network.running() > 0) run.reach('a request ran')
        for (const each of deliveries) each.cancel()
        await clock.advance(timeout)
        holdsStopped(network.calls, sent, at)
      },
    }),

    law({
      id: 'sink/take-one',
      statement: 'take(1) aborts what a delivery has still to do after its verdict.',
      input,
      check: async (given, run) => {
        const { clock, network, sink } = openSink(make, given, run)
        for (const { item: each } of given.steps) {
          let end: { readonly sent: number; readonly at: number } | undefined
          const over = (): void => {
            end = { sent: network.calls.length, at: clock.monotonic() }
          }
          sink.deliver(each, onlyAttempt).pipe(take(1)).subscribe({ complete: over, error: over })
          await clock.advance(timeout)
          if (end !== undefined) holdsStopped(network.calls, end.sent, end.at)
        }
      },
    }),
  ]
}
