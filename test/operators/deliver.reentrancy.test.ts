import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { BehaviorSubject, Subject, take } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { deliver } from '../../src/operators/deliver.ts'
import type { DeliverOptions } from '../../src/operators/deliver.ts'
import { retryable } from '../../src/core/failure.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import type { Refusal } from '../../src/core/refusal.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { exponential } from '../../src/policy/retryPolicy.ts'
import { scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import type { VirtualClock } from '../../src/testing/virtualClock.ts'

const yes: Verdict = right({ sink: 's' })
const busy: Verdict = left(retryable('busy'))
type Ended = Refusal | Outcome<string>
const told = (ended: Ended): string => ('item' in ended ? `${ended._tag} ${ended.item}` : ended._tag)

/** Fails the first attempt and takes the second, both at once: so all that is offered together is due together. */
const open = (options: (clock: VirtualClock) => DeliverOptions = () => ({})) => {
  const clock = virtualClock()
  const items = new Subject<Either<never, string>>()
  const sink = scriptedSink<string>({
    clock,
    reply: (_, { number }) => ({ verdict: number === 1 ? busy : yes }),
  })
  const stream = items.pipe(deliver(sink, { clock, retry: exponential(), ...options(clock) }))
  return { clock, items, sink, stream }
}

describe('a subscriber that acts inside next', () => {
  it('stops: what was due at the same time is not started any more, and is handed back', () => {
    const stop = new Subject<void>()
    const { clock, items, sink, stream } = open(() => ({ stop }))
    const seen: string[] = []
    stream.subscribe({
      next: (ended) => {
        seen.push(told(ended))
        if (ended._tag === 'Delivered') stop.next()
      },
      complete: () => seen.push('complete'),
    })
    for (const item of ['a', 'b', 'c']) items.next(right(item))
    clock.tick(1_000)
    expect(seen).toEqual(['Delivered a', 'Abandoned b', 'Abandoned c', 'complete'])
    expect(sink.calls).toHaveLength(4)
    expect(clock.pending()).toBe(0)
  })

  it('unsubscribes: nothing more starts, and the diagnostics hear of the rest', () => {
    const happened: string[] = []
    const { clock, items, sink, stream } = open(() => ({
      onEvent: (happening) => {
        if (happening._tag === 'Ended') happened.push(happening.outcome._tag)
      },
    }))
    const seen: string[] = []
    stream.pipe(take(1)).subscribe((ended) => seen.push(told(ended)))
    for (const item of ['a', 'b', 'c']) items.next(right(item))
    clock.tick(1_000)
    expect(seen).toEqual(['Delivered a'])
    expect(happened).toEqual(['Delivered', 'Abandoned', 'Abandoned'])
    expect([sink.calls.length, clock.pending(), items.observed]).toEqual([4, 0, false])
  })

  it('sends: every subscriber sees the outcomes in one order', () => {
    const clock = virtualClock()
    const items = new Subject<Either<never, string>>()
    const sink = scriptedSink<string>({
      clock,
      reply: (item) => (item === 'first' ? { verdict: yes, after: 10 } : { verdict: yes }),
    })
    const shared = new Subject<Ended>()
    const seen: string[] = []
    shared.pipe(take(1)).subscribe(() => {
      items.next(right('second'))
    })
    shared.subscribe({ next: (ended) => seen.push(told(ended)), complete: () => seen.push('complete') })
    items.pipe(deliver(sink, { clock })).subscribe(shared)
    items.next(right('first'))
    clock.tick(10)
    items.complete()
    expect(seen).toEqual(['Delivered first', 'Delivered second', 'complete'])
  })

  it('ends the source: the stream completes after what that callback was told of', () => {
    const { clock, items, stream } = open()
    const seen: string[] = []
    stream.subscribe({
      next: (ended) => {
        seen.push(told(ended))
        items.complete()
      },
      complete: () => seen.push('complete'),
    })
    for (const item of ['a', 'b']) items.next(right(item))
    clock.tick(1_000)
    expect(seen).toEqual(['Delivered a', 'Delivered b', 'complete'])
  })
})

describe('a stop that is there from the start', () => {
  it('completes without asking the source', () => {
    const { items, stream } = open(() => ({ stop: new BehaviorSubject(1) }))
    const seen: string[] = []
    stream.subscribe({ next: (ended) => seen.push(told(ended)), complete: () => seen.push('complete') })
    expect(seen).toEqual(['complete'])
    expect(items.observed).toBe(false)
  })
})

describe('a tell that is an async function and rejects', () => {
  it('harms nobody', async () => {
    // A type does not keep it out: where nothing is expected, anything may be answered.
    const onEvent = (): unknown => Promise.reject(new Error('listener'))
    const { clock, items, stream } = open(() => ({ onEvent }))
    const seen: string[] = []
    stream.subscribe((ended) => seen.push(told(ended)))
    items.next(right('a'))
    await clock.advance(1_000)
    expect(seen).toEqual(['Delivered a'])
  })
})
