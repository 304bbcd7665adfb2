/** When batches leave, drawn: upper-case letters have ended already, every other letter is an item of one byte. */
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { map } from 'rxjs'
import type { Observable } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { describe, expect, it } from 'vitest'
import type { Clock } from '../../src/core/clock.ts'
import type { BatchPayload, EventPayload } from '../../src/event/payload.ts'
import { batch } from '../../src/operators/batch.ts'
import type { BatchOptions } from '../../src/operators/batch.ts'
import type { TooLarge } from '../../src/core/refusal.ts'

const payload = (text: string): EventPayload<string> => ({
  id: `id of ${text}`,
  items: [text],
  text,
  byteLength: Buffer.byteLength(text),
})

/** A clock on the test scheduler's time, so that marbles can be drawn. */
const clockOf = (scheduler: TestScheduler): Clock => ({
  now: () => scheduler.now(),
  monotonic: () => scheduler.now(),
  schedule: (delay, task) => {
    const subscription = scheduler.schedule(task, delay)
    return () => {
      subscription.unsubscribe()
    }
  },
})

/** What a stream says, in short: `a,b by count`, `too large: c`, `left x`. */
const inWords = (each: Either<TooLarge | string, BatchPayload<string>>): string => {
  if (each._tag === 'Right') return `${each.right.items.join()} by ${each.right.closedBy}`
  return typeof each.left === 'string' ? `left ${each.left}` : `too large: ${String(each.left.id)}`
}

interface Drawing {
  readonly source: string
  readonly options: BatchOptions
  readonly out: string
  /** What the letters of `out` stand for. */
  readonly values: Readonly<Record<string, string>>
  readonly flush?: string
  readonly unsubscribed?: string
}

const drawn = ({ source, options, out, values, flush, unsubscribed }: Drawing): void => {
  const scheduler = new TestScheduler((actual, expected) => {
    expect(actual).toEqual(expected)
  })
  scheduler.run(({ hot, expectObservable }) => {
    const input = hot(source).pipe(
      map((letter) => (letter === letter.toUpperCase() ? left(letter) : right(payload(letter)))),
    )
    const flushes = flush === undefined ? {} : { flush: hot(flush) }
    const result: Observable<string> = input.pipe(
      batch({ ...options, ...flushes, clock: clockOf(scheduler) }),
      map(inWords),
    )
    expectObservable(result, unsubscribed).toBe(out, { ...values })
  })
}

describe('batch in marbles', () => {
  it('closes by count', () => {
    drawn({
      source: 'ab-cd-|',
      options: { maxCount: 2 },
      out: '   -x--y-|',
      values: { x: 'a,b by count', y: 'c,d by count' },
    })
  })

  it('closes by bytes before the item that would be one too many: two items, two brackets and a comma make five', () => {
    drawn({
      source: 'a-b-c-|',
      options: { maxBytes: 6 },
      out: '   ----x-(y|)',
      values: { x: 'a,b by bytes', y: 'c by end' },
    })
  })

  it('closes at once when it is full to the byte', () => {
    drawn({ source: 'a-b-|', options: { maxBytes: 5 }, out: '--x-|', values: { x: 'a,b by bytes' } })
  })

  it('waits for the delay, from the first item', () => {
    drawn({
      source: '-a-b---c-----|',
      options: { maxDelay: 4 },
      out: '   -----x-----y-|',
      values: { x: 'a,b by delay', y: 'c by delay' },
    })
  })

  it('waits for the delay, from the last flush: what comes after a longer pause leaves at once', () => {
    drawn({
      source: '-a-------b-c----|',
      options: { maxDelay: 4, delayFrom: 'lastFlush' },
      out: '   ----x----y---z--|',
      values: { x: 'a by delay', y: 'b by delay', z: 'c by delay' },
    })
  })

  it('flushes when it is told to, and an empty flush is nothing', () => {
    drawn({
      source: 'a-b--c|',
      flush: ' ---ff--',
      options: {},
      out: '   ---x--(y|)',
      values: { x: 'a,b by flush', y: 'c by end' },
    })
  })

  it('lets pass at once what has ended already', () => {
    drawn({ source: 'aB-b|', options: {}, out: '-l--(x|)', values: { l: 'left B', x: 'a,b by end' } })
  })

  it('emits the rest before an error', () => {
    drawn({ source: 'ab-#', options: {}, out: '---(x#)', values: { x: 'a,b by end' } })
  })

  it('emits nothing for nothing', () => {
    drawn({ source: '-------|', options: { maxDelay: 2 }, out: '-------|', values: {} })
  })

  it('emits nothing after it was unsubscribed', () => {
    drawn({ source: 'ab---c', options: { maxDelay: 3 }, unsubscribed: '--!', out: '---', values: {} })
  })
})
