import type { Cancel, Clock } from '../core/clock.ts'
import type { Verdict } from '../core/failure.ts'
import { makeSink, type Subscribe } from '../sink/layer.ts'
import type { Attempt, Sink } from '../sink/sink.ts'

/** How a scripted sink answers one delivery. */
export interface Reply {
  /** Left out: there is no verdict, the delivery errors as a defect or hangs. */
  readonly verdict?: Verdict
  /** The delivery ends with this as a defect, in place of its completion. */
  readonly defect?: unknown
  /** Milliseconds from the start to the verdict. Left out: it comes before `subscribe` returns. */
  readonly after?: number
  /** Milliseconds from the verdict to the end. Left out: it ends at once. */
  readonly rest?: number
}

/** One delivery that a scripted sink has seen. Times are readings of the clock's `monotonic`. */
export interface Call<out A> {
  readonly item: A
  readonly attempt: Attempt
  readonly startedAt: number
  readonly verdictAt: number | undefined
  readonly endedAt: number | undefined
  readonly ended: 'completed' | 'failed' | 'cancelled' | undefined
}

/** A sink that plays its script and remembers what it was asked. */
export interface ScriptedSink<A> extends Sink<A> {
  /** Every delivery, in the order of their start. */
  readonly calls: ReadonlyArray<Call<A>>
  /** Deliveries that have started and not ended. */
  readonly running: () => number
  /** The arguments of every close. */
  readonly closed: ReadonlyArray<number>
}

/** What a scripted sink is made of. */
export interface ScriptedSinkOptions<in A> {
  /** Default: `scripted`. */
  readonly name?: string
  readonly clock: Clock
  /** What to answer; `index` counts the deliveries from 0. */
  readonly reply: (item: A, attempt: Attempt, index: number) => Reply
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * A sink in memory for tests: it answers as its script says, when its script says, on the clock that it is given.
 *
 * @example
 * import { right } from 'fp-ts/lib/Either.js'
 * import { onlyAttempt } from 'headrace'
 * import { scriptedSink, virtualClock } from 'headrace/testing'
 *
 * const clock = virtualClock()
 * const slow = scriptedSink<string>({ clock, reply: () => ({ verdict: right({ sink: 'scripted' }), after: 30 }) })
 * slow.deliver('hello', onlyAttempt).subscribe(console.log)
 * clock.tick(30)
 */
export const scriptedSink = <A>({
  name = 'scripted',
  clock,
  reply,
}: ScriptedSinkOptions<A>): ScriptedSink<A> => {
  const calls: Array<Writable<Call<A>>> = []
  const closed: number[] = []
  let running = 0

  const subscribe: Subscribe<A> = (item, attempt, observer) => {
    const answer = reply(item, attempt, calls.length)
    const call: Writable<Call<A>> = {
      item,
      attempt,
      startedAt: clock.monotonic(),
      verdictAt: undefined,
      endedAt: undefined,
      ended: undefined,
    }
    calls.push(call)
    running++
    let cancelTimer: Cancel | undefined

    const later = (delay: number | undefined, task: () => void): void => {
      if (delay === undefined) task()
      else cancelTimer = clock.schedule(delay, task)
    }

    /** Notes the end; false if the delivery has ended before. */
    const end = (ended: NonNullable<Call<A>['ended']>): boolean => {
      if (call.ended !== undefined) return false
      call.ended = ended
      call.endedAt = clock.monotonic()
      running--
      return true
    }

    const close = (): void => {
      if ('defect' in answer) {
        if (end('failed')) observer.error(answer.defect)
      } else if (answer.verdict !== undefined && end('completed')) observer.complete()
    }

    later(answer.after, () => {
      if (answer.verdict !== undefined) {
        call.verdictAt = clock.monotonic()
        observer.next(answer.verdict)
      }
      if (call.ended === undefined) later(answer.rest, close)
    })

    return () => {
      if (end('cancelled')) cancelTimer?.()
    }
  }

  const own = makeSink(name, subscribe, (within) => () => {
    closed.push(within)
    return Promise.resolve()
  })
  // Not a spread into a new sink: layers find `subscribe` on the object that `makeSink` made.
  return Object.assign(own, { calls, running: () => running, closed })
}
