import { left, right } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { onlyAttempt, retryable, toAll, withDedupe, withObserver } from '../../src/index.ts'
import type { Listener, LogEvent } from '../../src/log/index.ts'
import { scriptedSink, virtualClock, type Reply } from '../../src/testing/index.ts'
import { hear } from './deliverOnce.ts'

const deduped = (reply: Reply, keyOf = (item: string): string | undefined => item) => {
  const clock = virtualClock()
  const inner = scriptedSink<string>({ clock, reply: () => reply })
  const deduped = withDedupe({ keyOf, keyTimeout: 1_000 })(inner)
  const send = (complete = () => undefined, onEvent: Listener = () => undefined) =>
    withObserver({ onEvent })(deduped)
      .deliver('a', { ...onlyAttempt, clock })
      .subscribe({ complete })
  return { clock, inner, send }
}

it('sends again when the window is over, and not before', () => {
  const { clock, inner, send } = deduped({ verdict: right({ sink: 's' }) })
  const told: LogEvent[] = []
  send(undefined, (event) => told.push(event))
  clock.tick(999)
  send(undefined, (event) => told.push(event))
  expect([inner.calls.length, told.length]).toEqual([1, 1])
  clock.tick(1)
  send()
  expect(inner.calls).toHaveLength(2)
})

it('a delivery that starts at the end of the one before is shared by those that follow', () => {
  const { clock, inner, send } = deduped({ verdict: left(retryable('status')), after: 10 })
  send(() => void send())
  send()
  clock.tick(10)
  send()
  expect(inner.calls).toHaveLength(2)
  expect(inner.calls.map(({ ended }) => ended)).toEqual(['completed', undefined])
})

it('a retry is sent, also while the failed delivery goes on after its verdict', () => {
  const { clock, inner, send } = deduped({ verdict: left(retryable('status')), rest: 5_000 })
  const first = send()
  clock.tick(1)
  send()
  first.unsubscribe()
  expect(inner.calls.map(({ ended }) => ended)).toEqual(['cancelled', undefined])
})

it('always sends an item without a key', () => {
  const { inner, send } = deduped({ verdict: right({ sink: 's' }) }, () => undefined)
  send()
  send()
  expect(inner.calls).toHaveLength(2)
})

it.each(['x', 7, 7n, true, null])('siblings and a layer around them each get an item of key %o', (key) => {
  const clock = virtualClock()
  const once = withDedupe<string>({ keyOf: () => key, keyTimeout: 1_000 })
  const named = (name: string) => ({
    ...scriptedSink<string>({ clock, reply: () => ({ verdict: right({ sink: name }) }) }),
    name,
  })
  const siblings = [named('a'), named('b')]
  const { told } = hear(once(toAll(siblings.map((each) => once(each)))), 'x', { ...onlyAttempt, clock })
  expect(told).toMatchObject([{ _tag: 'Right' }, 'complete'])
  expect(siblings.map(({ calls }) => calls.length)).toEqual([1, 1])
})
