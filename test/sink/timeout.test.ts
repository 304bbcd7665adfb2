import { right } from 'fp-ts/lib/Either.js'
import { Observable, type Subscriber } from 'rxjs'
import { expect, test, vi } from 'vitest'
import { onlyAttempt, withTimeout, type Sink, type Verdict } from '../../src/index.ts'
import { virtualClock } from '../../src/testing/index.ts'
import { hear } from './deliverOnce.ts'

const sinkOf = (start: (subscriber: Subscriber<Verdict>) => void): Sink<number> => ({
  name: 'a',
  deliver: () => new Observable(start),
  close: async () => undefined,
})

test.each([0, -1, NaN, Infinity])('a timeout of %d is refused', (within) =>
  expect(() => withTimeout({ timeout: within })).toThrow(/options of withTimeout: timeout must be/),
)

test('a verdict that comes at once is in time, however long its sink took, and reads no clock', () => {
  let time = 0
  const sink = sinkOf((subscriber) => {
    time = 200
    subscriber.next(right({ sink: 'a' }))
    subscriber.complete()
  })
  const monotonic = vi.fn(() => time)
  const clock = { ...virtualClock(), monotonic }
  const { told } = hear(withTimeout({ timeout: 100 })(sink), 1, { ...onlyAttempt, clock })
  expect([told, monotonic.mock.calls]).toEqual([[right({ sink: 'a' }), 'complete'], []])
})

test.each([
  // Timers run before sockets are read, unless a handler of another socket made the process stand still.
  ['that came meanwhile counts', ['timer', 'answer', 'timer'], ['Right']],
  ['that is read before the timer runs counts', ['answer', 'timer'], ['Right']],
  ['that has not come soon after is a timeout', ['timer', 'timer'], ['Left']],
  [
    'to a younger one counts, also after a second one',
    ['second', 'timer', 'longer', 'timer', 'answer'],
    ['Left', 'Right'],
  ],
] as const)('after a standstill of the process an answer %s', (_, order, tags) => {
  let time = 0
  let ring = (): void => undefined
  const schedule = (_delay: number, task: () => void) => {
    ring = task
    return () => undefined
  }
  const clock = { ...virtualClock(), monotonic: () => time, schedule }
  let answer = (): void => undefined
  const sink = sinkOf((subscriber) => {
    answer = () => subscriber.next(right({ sink: 'a' }))
  })
  const heard: string[] = []
  const limited = withTimeout({ timeout: 100 })(sink)
  const start = () => limited.deliver(1, { ...onlyAttempt, clock }).subscribe(({ _tag }) => heard.push(_tag))
  start()
  time = order[0] === 'second' ? 50 : 20_000
  const play = { second: start, longer: () => (time = 400), timer: () => ring(), answer: () => answer() }
  for (const each of order) {
    play[each]()
    time = Math.max(time, 101)
  }
  expect(heard).toEqual(tags)
})
