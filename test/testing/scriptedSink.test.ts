import { right } from 'fp-ts/lib/Either.js'
import { expect, test } from 'vitest'
import { onlyAttempt } from '../../src/sink/sink.ts'
import { scriptedSink, virtualClock } from '../../src/testing/index.ts'

/** Replies, at their times: the oracle of test/laws/timeout.laws.ts. */
const taken = right({ sink: 'scripted' })

test('remembers calls, cancels and closes', async () => {
  const clock = virtualClock()
  const sink = scriptedSink<string>({ clock, reply: () => ({ verdict: taken, after: 10, rest: 10 }) })
  const subscription = sink.deliver('a', onlyAttempt).subscribe()
  clock.tick(15)
  expect(sink.running()).toBe(1)
  subscription.unsubscribe()
  await sink.close({ timeout: 9 })
  const times = { startedAt: 0, verdictAt: 10, endedAt: 15 }
  expect(sink.calls).toEqual([{ item: 'a', attempt: onlyAttempt, ...times, ended: 'cancelled' }])
  expect([sink.running(), sink.closed, clock.pending()]).toEqual([0, [9], 0])
})
