import { left, right } from 'fp-ts/lib/Either.js'
import { from } from 'rxjs'
import { expect, it } from 'vitest'
import type { Clock } from '../../../src/core/clock.ts'
import { deliver } from '../../../src/operators/deliver.ts'
import { retryable } from '../../../src/core/failure.ts'
import { exponential, fullJitter } from '../../../src/policy/retryPolicy.ts'
import { scriptedSink } from '../../../src/testing/scriptedSink.ts'
import { seededRandom } from '../../../src/testing/random.ts'
import { virtualClock } from '../../../src/testing/virtualClock.ts'

// A busy machine does this: something falls due between looking at what is due and setting the timer for the rest.
it('what falls due between two readings of the clock is not forgotten', () => {
  for (let seed = 0; seed < 300; seed++) {
    const virtual = virtualClock()
    let drift = 0
    const clock: Clock = { ...virtual, monotonic: () => virtual.monotonic() + (drift += 0.7) }
    const sink = scriptedSink<number>({
      clock: virtual,
      reply: (_, { number }) =>
        number < 4
          ? { verdict: left(retryable('busy')), after: 1 }
          : { verdict: right({ sink: 'scripted' }), after: 1 },
    })
    const ended: string[] = []
    from([1, 2, 3, 4].map((n) => right(n)))
      .pipe(deliver(sink, { clock, retry: fullJitter(exponential({ base: 5 })), random: seededRandom(seed) }))
      .subscribe({ next: ({ _tag }) => ended.push(_tag), complete: () => ended.push('complete') })
    virtual.tick(10_000)
    expect(ended).toEqual(['Delivered', 'Delivered', 'Delivered', 'Delivered', 'complete'])
  }
})
