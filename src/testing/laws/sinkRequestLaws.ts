import * as fc from 'fast-check'
import { Subject, take, takeUntil } from 'rxjs'
import { earliestRetry, isRetryable, isVerdict } from '../../core/failure.ts'
import type { Verdict } from '../../core/failure.ts'
import { onlyAttempt } from '../../sink/sink.ts'
import { meaningOf, retryAfter, statusTable } from '../../sink/status.ts'
import { effectOf } from '../faults.ts'
import type { NetworkCall } from '../network.ts'
import { holds } from './assert.ts'
import { law, lawsOver, type Law, type Run } from './law.ts'
import { endOf, openSink, sinkInputs } from './sinkWorld.ts'
import type { Delivery, MakeSink, SinkInput } from './sinkWorld.ts'

/** What the network did with a request, or what a verdict says. `failed`: not delivered; to be tried again or not. */
type Meaning = 'delivered' | 'retryable' | 'refused' | 'failed'

/** The answer that a request got; undefined if it got none. */
const answerTo = ({ ended, fault }: NetworkCall) => {
  const effect = effectOf(fault, 'http://receiver.test/')
  return ended === 'answered' && effect.what === 'answer' ? effect : undefined
}

const meaningOfCall = (call: NetworkCall): Meaning => {
  const answer = answerTo(call)
  if (answer === undefined) return call.fault.do === 'tls' ? 'failed' : 'retryable'
  const means = meaningOf(statusTable, answer.status)
  // A redirect, a 408 and a 425 are read in different ways.
  if (means === 'redirect' || [408, 425].includes(answer.status)) return 'failed'
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
  /** Until when the last answer asked to wait, on the wall clock; undefined if it did not. */
  readonly askedUntil: number | undefined
}

/** Delivers one item after the other. */
const playAlone = async <A>(
  make: MakeSink<A>,
  given: SinkInput<A>,
  timeout: number,
  run: Run,
): Promise<ReadonlyArray<Alone>> => {
  const { clock, network, deliver } = openSink(make, given, run)
  const start = clock.now()
  const all: Alone[] = []
  for (const { item } of given.steps) {
    const sent = network.calls.length
    const delivery = deliver(item)
    await clock.advance(timeout)
    const verdict = delivery.told.map(({ value }) => value).find(isVerdict)
    const calls = network.calls.slice(sent)
    const last = calls.at(-1)
    const answeredAt = start + (last?.endedAt ?? 0)
    const wait = last && retryAfter(answerTo(last)?.headers['retry-after'], answeredAt)
    const askedUntil = wait === undefined ? undefined : answeredAt + wait
    all.push({ delivery, verdict, calls, sent, askedUntil })
  }
  return all
}

/** Says that verdict and network do not go together. */
const conflict = (verdict: Verdict, calls: ReadonlyArray<NetworkCall>): string => {
  const faults = calls.map(({ fault }) => JSON.stringify(fault)).join(', ')
  return `the network did ${faults || 'nothing, no request was sent'}; the verdict is ${JSON.stringify(verdict)}`
}

/** Laws about requests and verdicts, for sinks that use the network of their world. */
export const sinkRequestLaws = <A>(
  make: MakeSink<A>,
  item: fc.Arbitrary<A>,
  timeout: number,
): ReadonlyArray<Law> => {
  const input = sinkInputs(item, true)

  /** The verdict of deliveries whose requests all met this meaning. */
  const holdsMeant = (all: ReadonlyArray<Alone>, meaning: Meaning, { reach }: Run): void => {
    for (const { verdict, calls } of all) {
      const isMeant = calls.length > 0 && calls.every((call) => meaningOfCall(call) === meaning)
      if (verdict === undefined || !isMeant) continue
      reach(meaning)
      holds(meaningOfVerdict(verdict) === meaning, conflict(verdict, calls))
    }
  }

  return [
    ...lawsOver('sink', input, (given, run) => playAlone(make, given, timeout, run), {
      'delivered-if-accepted': {
        statement: 'An item is delivered if the receiver accepted it with a 2xx, and only then.',
        situations: ['delivered', 'not accepted'],
        check: (all, _, run) => {
          holdsMeant(all, 'delivered', run)
          for (const { verdict, calls } of all) {
            if (calls.some((call) => meaningOfCall(call) === 'delivered')) continue
            run.reach('not accepted')
            if (verdict?._tag === 'Right') holds(verdict.right.duplicate === true, conflict(verdict, calls))
          }
        },
      },
      'failed-is-retryable': {
        statement: 'After a 5xx, a 429, a timeout or a fault of the network the item may be tried again.',
        situations: ['retryable'],
        check: (all, _, run) => holdsMeant(all, 'retryable', run),
      },
      'refused-is-final': {
        statement: 'A 4xx is final, except 429; for 408 and 425 the sink may decide.',
        situations: ['refused'],
        check: (all, _, run) => holdsMeant(all, 'refused', run),
      },
      'retry-after': {
        statement:
          'What a Retry-After asks for, in seconds or as a date, is told as notBefore, or a second later at most.',
        situations: ['asked to wait'],
        check: (all, _, { reach }) => {
          for (const { verdict, calls, askedUntil } of all) {
            if (askedUntil === undefined || verdict?._tag !== 'Left' || !isRetryable(verdict.left)) continue
            reach('asked to wait')
            const late = (earliestRetry(verdict.left) ?? 0) - askedUntil
            holds(
              late >= 0 && late <= 1_000,
              `${conflict(verdict, calls)}, asked until ${String(askedUntil)}`,
            )
          }
        },
      },
      'completes-last': {
        statement:
          'A delivery completes when none of its requests runs any more, and none begins afterwards.',
        check: (all) => {
          for (const { delivery, sent, calls } of all) {
            const end = endOf(delivery)
            if (end?.what !== 'complete') continue
            holds(end.running === 0, 'it completed while a request ran')
            holds(end.sent === sent + calls.length, 'a request began after it completed')
          }
        },
      },
    }),

    law({
      id: 'sink/cancel-aborts',
      statement:
        'A cancel, also one by take(1), aborts the requests that run, at its moment, and none begins afterwards.',
      // Null: each delivery alone, with take(1).
      input: fc.record({ cancelAt: fc.option(fc.nat(60)), world: input }),
      situations: ['a request ran'],
      check: async ({ cancelAt, world }, run) => {
        const { clock, network, sink } = openSink(make, world, run)
        const cancels = new Subject<void>()
        const cancel = cancelAt === null ? take<Verdict>(1) : takeUntil<Verdict>(cancels)
        clock.schedule(cancelAt ?? Infinity, () => cancels.next())
        const groups = cancelAt === null ? world.steps.map((step) => [step]) : [world.steps]
        for (const group of groups) {
          let sent = Infinity
          let at = Infinity
          const over = (): void => {
            if (network.running() > 0) run.reach('a request ran')
            sent = network.calls.length
            at = clock.monotonic()
          }
          for (const each of group)
            sink.deliver(each.item, onlyAttempt).pipe(cancel).subscribe({ complete: over, error: over })
          await clock.advance(timeout)
          for (const { endedAt = Infinity } of network.calls.slice(0, sent))
            holds(endedAt <= at, `a request ran on until ${String(endedAt)}, not ${String(at)} ms`)
          // A request that is aborted before it begins is none.
          const begun = network.calls.slice(sent).filter(({ ended }) => ended !== 'cancelled').length
          holds(begun === 0, `${String(begun)} requests began after ${String(at)} ms`)
        }
      },
    }),
  ]
}
