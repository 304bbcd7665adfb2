import { left } from '../core/either.ts'
import { steady, type Clock } from '../core/clock.ts'
import type { Verdict } from '../core/failure.ts'
import { checkOptions, clockOption, func, guarded, optional, strict, withDefault } from '../core/options.ts'
import { failureOf } from '../http/networkError.ts'
import { makeSink, nothingToCancel } from '../sink/layer.ts'
import type { Attempt, Sink } from '../sink/sink.ts'
import { statusTable, verdictOf } from '../sink/status.ts'
import { effectOf, faultPlayer, scriptOption, type Misbehaviour, type FaultScript } from './faults.ts'
import type { Writable } from './network.ts'

/** How a scripted sink answers one delivery. */
export interface Reply {
  /** Left out: there is no verdict; the delivery ends with the defect, or hangs. */
  readonly verdict?: Verdict
  /** The delivery ends with this defect and does not complete. */
  readonly defect?: unknown
  /** Milliseconds from the start to the verdict. Left out: the verdict comes before `subscribe` returns. */
  readonly after?: number
  /** Milliseconds from the verdict to the end. Left out: it ends at once. `Infinity`: it does not end. */
  readonly rest?: number
}

/** One delivery of a scripted sink. Times are those of the clock's `monotonic`. */
export interface SinkCall<out A> {
  readonly item: A
  readonly attempt: Attempt
  readonly startedAt: number
  readonly verdictAt: number | undefined
  readonly endedAt: number | undefined
  readonly ended: 'completed' | 'failed' | 'cancelled' | undefined
}

/** A sink that plays its script and records its deliveries. */
export interface ScriptedSink<A> extends Sink<A> {
  /** Every delivery, in the order of their start. */
  readonly calls: ReadonlyArray<SinkCall<A>>
  /** Deliveries that have started and not ended. */
  readonly running: () => number
  /** The time of each close, in milliseconds. */
  readonly closed: ReadonlyArray<number>
}

/** The parts of a scripted sink. */
export interface ScriptedSinkOptions<in A> {
  /** Default: `scripted`. */
  readonly name?: string
  readonly clock: Clock
  /** The reply to a delivery; `index` counts the deliveries from 0. It goes before a `script`. */
  readonly reply?: (item: A, attempt: Attempt, index: number) => Reply
  /**
   * One fault for each delivery, or the fault that a function gives for it: the verdict is the one of a
   * webhook to a receiver with this fault. Default: every delivery is delivered at once with status 200.
   */
  readonly script?: FaultScript | ((item: A, index: number) => Misbehaviour)
}

const OPEN = { verdictAt: undefined, endedAt: undefined, ended: undefined }

const isText = (value: unknown): value is string => typeof value === 'string'

const scriptedOptions = strict({
  name: withDefault(guarded('a string', isText), 'scripted'),
  clock: clockOption,
  reply: optional(func<() => Reply>()),
  script: optional(scriptOption<FaultScript | (() => Misbehaviour)>()),
})

const replyTo = (fault: Misbehaviour, sink: string, clock: Clock): Reply => {
  const effect = effectOf(fault, 'http://receiver.test/')
  if (effect.what === 'nothing') return {}
  const after = effect.after > 0 ? { after: effect.after } : {}
  if (effect.what === 'error') return { verdict: left(failureOf(effect.error, effect.isSent)), ...after }
  const { status, headers, body } = effect
  const [wall, now] = [clock.now() + effect.after, steady(clock)() + effect.after]
  const verdict = verdictOf(statusTable, sink, { status, retryAfter: headers['retry-after'] }, wall, now)
  return { verdict, ...after, ...(body === null ? { rest: Infinity } : {}) }
}

/**
 * A sink in memory for tests: it gives the replies of its script, at their times on its clock. A script of
 * faults makes it a webhook without a network: put `withTimeout` around it, as some faults never answer.
 *
 * @example
 * import { right } from 'fp-ts/lib/Either.js'
 * import { onlyAttempt } from 'headrace'
 * import { scriptedSink, virtualClock } from 'headrace/testing'
 *
 * const clock = virtualClock()
 * const reply = () => ({ verdict: right({ sink: 'scripted' }), after: 30 })
 * const slow = scriptedSink<string>({ clock, reply })
 * slow.deliver('hello', onlyAttempt).subscribe((verdict) => console.log(verdict._tag)) // => Right
 * clock.tick(30)
 */
export const scriptedSink = <A>(options: ScriptedSinkOptions<A>): ScriptedSink<A> => {
  const { name, clock, script = [] } = checkOptions('options of scriptedSink', scriptedOptions, options)
  const faultFor = faultPlayer<A>(clock, script)
  const reply = options.reply ?? ((item: A): Reply => replyTo(faultFor(item), name, clock))
  const calls: Array<Writable<SinkCall<A>>> = []
  const closed: number[] = []
  let running = 0

  const sink = makeSink<A>(
    name,
    (item, attempt, observer) => {
      const given = reply(item, attempt, calls.length)
      const { verdict, after, rest } = given
      const call: Writable<SinkCall<A>> = { item, attempt, startedAt: clock.monotonic(), ...OPEN }
      calls.push(call)
      running++
      let cancelTimer = nothingToCancel

      const later = (delay: number | undefined, task: () => void): void => {
        if (delay === undefined) task()
        else if (delay < Infinity) cancelTimer = clock.schedule(delay, task)
      }
      const end = (ended: NonNullable<SinkCall<A>['ended']>): void => {
        call.ended = ended
        call.endedAt = clock.monotonic()
        running--
      }
      const finish = (): void => {
        if ('defect' in given) {
          end('failed')
          observer.error(given.defect)
        } else if (verdict !== undefined) {
          end('completed')
          observer.complete()
        }
      }
      later(after, () => {
        if (verdict !== undefined) {
          call.verdictAt = clock.monotonic()
          observer.next(verdict)
        }
        // The observer may have cancelled.
        if (call.ended === undefined) later(rest, finish)
      })
      return () => {
        if (call.ended !== undefined) return
        end('cancelled')
        cancelTimer()
      }
    },
    (timeout) => {
      closed.push(timeout)
      return Promise.resolve()
    },
  )
  return Object.assign(sink, { calls, running: () => running, closed })
}
