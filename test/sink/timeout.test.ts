import { right } from 'fp-ts/lib/Either.js'
import { expect, test } from 'vitest'
import { withTimeout } from '../../src/sink/timeout.ts'
import { onlyAttempt } from '../../src/sink/sink.ts'
import { scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

test.each([0, -1, NaN, Infinity])('a timeout of %d is refused', (within) =>
  expect(() => withTimeout(within)).toThrow(/timeout of withTimeout: must be/),
)

test('a step of the wall clock changes nothing', () => {
  const clock = virtualClock()
  const heard: unknown[] = []
  const slow = scriptedSink<number>({ clock, reply: () => ({ verdict: right({ sink: 'a' }), after: 90 }) })
  withTimeout(100, { clock })(slow)
    .deliver(1, onlyAttempt)
    .subscribe((verdict) => heard.push(verdict))
  clock.wall(3_600_000)
  clock.tick(95)
  expect(heard).toEqual([right({ sink: 'a' })])
})
