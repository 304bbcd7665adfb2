import { right } from 'fp-ts/lib/Either.js'
import { expect, test } from 'vitest'
import { onlyAttempt } from '../../src/sink/sink.ts'
import { scriptedSink, virtualClock, type Reply } from '../../src/testing/index.ts'

const taken = right({ sink: 'scripted' })

test.each<readonly [string, Reply, ReadonlyArray<string>, string | undefined]>([
  ['on the spot', { verdict: taken }, ['next 0', 'complete 0'], 'completed'],
  ['with a rest', { verdict: taken, after: 5, rest: 7 }, ['next 5', 'complete 12'], 'completed'],
  ['a defect', { defect: 'x', after: 5 }, ['error 5'], 'failed'],
  ['a defect after the verdict', { verdict: taken, defect: 'x', rest: 3 }, ['next 0', 'error 3'], 'failed'],
  ['a hanging one', {}, [], undefined],
])('plays its script: %s', (_name, reply, wanted, ended) => {
  const clock = virtualClock()
  const heard: string[] = []
  const sink = scriptedSink<number>({ clock, reply: () => reply })
  const hear = (what: string) => () => heard.push(`${what} ${clock.monotonic()}`)
  const observer = { next: hear('next'), complete: hear('complete'), error: hear('error') }
  sink.deliver(1, onlyAttempt).subscribe(observer)
  clock.tick(100)
  expect([heard, sink.calls[0]?.ended]).toEqual([wanted, ended])
})

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
