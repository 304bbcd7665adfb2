import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { LogEvent } from '../../src/log/logEvent.ts'
import { deliver } from '../../src/operators/deliver.ts'
import { retryable } from '../../src/core/failure.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import { exponential } from '../../src/policy/retryPolicy.ts'
import { makeSink } from '../../src/sink/layer.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

const busy: Verdict = left(retryable('status', { status: 503 }))
const yes: Verdict = right({ sink: 's' })

/** A store of which one operation fails the first `times` times, by throwing or by rejecting. */
const failing = (
  operation: 'enqueue' | 'lease' | 'nack' | 'ack',
  times: number,
  how: 'throws' | 'rejects',
) => {
  const outbox = memoryOutbox<string>()
  let left = times
  const fail = <T>(): Promise<T> => {
    const error = new Error('disk full')
    if (how === 'throws') throw error
    return Promise.reject(error)
  }
  const flaky: Outbox<string> = {
    ...outbox,
    [operation]: (...args: never[]) => {
      if (left-- > 0) return fail()
      // The operation is called with its own arguments.
      return (outbox[operation] as (...same: never[]) => unknown)(...args)
    },
  }
  return flaky
}

const play = (outbox: Outbox<string>) => {
  const clock = virtualClock()
  const told: LogEvent[] = []
  const seen: string[] = []
  const items = new Subject<Either<never, string>>()
  let calls = 0
  const sink = makeSink<string>(
    's',
    (_, attempt, receiver) => {
      calls++
      receiver.next(attempt.number === 1 ? busy : yes)
      receiver.complete()
      return () => undefined
    },
    () => () => Promise.resolve(),
  )
  items
    .pipe(
      deliver(sink, { clock, outbox, retry: exponential(), onEvent: (happening) => told.push(happening) }),
    )
    .subscribe({
      next: (ended) => seen.push(ended._tag),
      error: () => seen.push('error'),
      complete: () => seen.push('complete'),
    })
  return {
    clock,
    items,
    seen,
    defects: () => told.filter(({ _tag }) => _tag === 'Defect').length,
    calls: () => calls,
  }
}

describe('a store that fails', () => {
  it.each(['throws', 'rejects'] as const)(
    'an append that %s costs that item, which is told so',
    async (how) => {
      const { clock, items, seen } = play(failing('enqueue', 1, how))
      items.next(right('a'))
      items.next(right('b'))
      items.complete()
      await clock.advance(60_000)
      expect(seen).toEqual(['NotStored', 'Delivered', 'complete'])
    },
  )

  it.each(['lease', 'nack', 'ack'] as const)(
    'a %s that fails is made again, and nothing is lost',
    async (operation) => {
      for (const how of ['throws', 'rejects'] as const) {
        const { clock, items, seen, defects, calls } = play(failing(operation, 2, how))
        items.next(right('a'))
        items.complete()
        await clock.advance(60_000)
        expect(seen).toEqual(['Delivered', 'complete'])
        expect(defects()).toBe(2)
        expect(calls()).toBe(2)
        expect(clock.pending()).toBe(0)
      }
    },
  )
})
