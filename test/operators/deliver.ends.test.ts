import { right } from 'fp-ts/lib/Either.js'
import { NEVER, Subject, concat, from, of, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { LogEvent } from '../../src/log/logEvent.ts'
import { deliver } from '../../src/operators/deliver.ts'
import { exponential } from '../../src/policy/retryPolicy.ts'
import type { Sink } from '../../src/sink/sink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { busy, nothing, record, scripted, tags, yes } from './delivering.ts'

describe('deliver', () => {
  it('stop cancels what runs, hands back what has not ended, and completes', () => {
    const clock = virtualClock()
    const stop = new Subject<void>()
    const sink = scripted<string>(clock, (item) => (item === 'waits' ? busy : yes), 10)
    const items = concat(of(right('waits')), NEVER)
    const seen = record(items.pipe(deliver(sink, { clock, stop, maxInFlight: 1 })))
    clock.tick(10)
    stop.next()
    expect(seen.values).toMatchObject([
      { _tag: 'Abandoned', item: 'waits', attempts: 1, lastFailure: { status: 503 } },
    ])
    expect(seen.end).toBe('complete')
    expect(clock.pending()).toBe(0)
    expect(stop.observed).toBe(false)
  })

  it('stop cancels requests in flight', () => {
    const clock = virtualClock()
    const stop = new Subject<void>()
    const sink = scripted<string>(clock, () => yes, 1_000)
    const seen = record(
      concat(of(right('a'), right('b')), NEVER).pipe(deliver(sink, { clock, stop, maxInFlight: 1 })),
    )
    expect(sink.running()).toBe(1)
    stop.next()
    expect(sink.running()).toBe(0)
    expect(tags(seen)).toBe('Abandoned Abandoned')
    expect(seen.end).toBe('complete')
  })

  it('unsubscribing cancels everything and tells what was abandoned', () => {
    const clock = virtualClock()
    const told: LogEvent[] = []
    const sink = scripted<string>(clock, () => yes)
    const seen = record(
      of(right('a')).pipe(deliver(sink, { clock, onEvent: (happening) => told.push(happening) })),
    )
    seen.stop()
    expect(sink.running()).toBe(0)
    expect(clock.pending()).toBe(0)
    expect(told.at(-1)).toMatchObject({ _tag: 'Ended', outcome: { _tag: 'Abandoned', item: 'a' } })
  })

  it('an error of the source is passed on after what was accepted has ended', () => {
    const clock = virtualClock()
    const sink = scripted<string>(clock, () => yes)
    const seen = record(
      concat(
        of(right('a')),
        throwError(() => new Error('torn')),
      ).pipe(deliver(sink, { clock })),
    )
    expect(seen.end).toBe('open')
    clock.tick(10)
    expect(tags(seen)).toBe('Delivered')
    expect(seen.end).toBe('error: Error: torn')
  })

  it('a sink that throws, errors or ends without a verdict costs an attempt of that item alone', () => {
    const clock = virtualClock()
    const told: LogEvent[] = []
    const odd: Sink<string> = {
      name: 'odd',
      deliver: (item, { number }) => {
        if (number > 1 || item === 'fine') return of(yes)
        if (item === 'throws') throw new Error('thrown')
        return item === 'errors' ? throwError(() => new Error('errored')) : of()
      },
      close: nothing,
    }
    const source = from(['throws', 'errors', 'silent', 'fine'].map((item) => right(item)))
    const seen = record(
      source.pipe(
        deliver(odd, { clock, retry: exponential(), onEvent: (happening) => told.push(happening) }),
      ),
    )
    clock.tick(1_000)
    expect(seen.values.map((outcome) => [outcome._tag, 'item' in outcome ? outcome.item : ''])).toEqual([
      ['Delivered', 'fine'],
      ['Delivered', 'throws'],
      ['Delivered', 'errors'],
      ['Delivered', 'silent'],
    ])
    expect(told.filter((happening) => happening._tag === 'Defect')).toHaveLength(3)
  })

  it('a listener that throws harms nobody', () => {
    const clock = virtualClock()
    const seen = record(
      of(right('a'), right('b')).pipe(
        deliver(
          scripted<string>(clock, () => yes),
          {
            clock,
            onEvent: () => {
              throw new Error('listener')
            },
          },
        ),
      ),
    )
    clock.tick(10)
    expect(tags(seen)).toBe('Delivered Delivered')
    expect(seen.end).toBe('complete')
  })

  it('two subscriptions are two deliveries', () => {
    const clock = virtualClock()
    const sink = scripted<string>(clock, () => yes)
    const stream = of(right('a')).pipe(deliver(sink, { clock }))
    record(stream)
    record(stream)
    clock.tick(10)
    expect(sink.calls).toHaveLength(2)
  })
})
