/** Sinks that answer by a function, and what came out of a stream. */
import { left, right } from 'fp-ts/lib/Either.js'
import type { Observable } from 'rxjs'
import { retryable } from '../../src/core/failure.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { fromRun } from '../../src/sink/layer.ts'
import type { Attempt, Sink } from '../../src/sink/sink.ts'
import type { virtualClock } from '../../src/testing/virtualClock.ts'

export const nothing = () => () => Promise.resolve()
export const yes: Verdict = right({ sink: 'scripted' })
export const busy: Verdict = left(retryable('status', { status: 503 }))

/** Answers by a function of the item and the attempt, `after` milliseconds later. */
export const scripted = <A>(
  clock: ReturnType<typeof virtualClock>,
  answer: (item: A, attempt: Attempt) => Verdict,
  after = 10,
): Sink<A> & { readonly calls: Array<{ item: A; at: number; number: number }>; running: () => number } => {
  const calls: Array<{ item: A; at: number; number: number }> = []
  let running = 0
  return {
    ...fromRun<A>(
      'scripted',
      (item, attempt, receiver) => {
        calls.push({ item, at: clock.monotonic(), number: attempt.number })
        running++
        const cancel = clock.schedule(after, () => {
          receiver.next(answer(item, attempt))
          receiver.complete()
        })
        return () => {
          cancel()
          running--
        }
      },
      nothing,
    ),
    calls,
    running: () => running,
  }
}

export const record = <T>(stream: Observable<T>): { values: T[]; end: string; stop: () => void } => {
  const seen = { values: [] as T[], end: 'open', stop: () => undefined as void }
  const subscription = stream.subscribe({
    next: (value) => seen.values.push(value),
    error: (error: unknown) => (seen.end = `error: ${String(error)}`),
    complete: () => (seen.end = 'complete'),
  })
  seen.stop = () => {
    subscription.unsubscribe()
  }
  return seen
}

export const tags = (seen: { values: ReadonlyArray<{ _tag: string }> }): string =>
  seen.values.map((v) => v._tag).join(' ')
