import type { Either } from 'fp-ts/lib/Either.js'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect, expectTypeOf, it, onTestFinished } from 'vitest'
import { ConfigError } from '../../src/core/refusal.ts'
import { push, type NotTaken, type Push } from '../../src/sources/push.ts'
import type { LogEvent } from '../../src/log/index.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { turns } from '../support/check.ts'

/** What a source holds, and when callers of `ready` continue: test/laws/push.laws.ts. */
it('holds 10,000 items and 32 MiB by default', () => {
  const source = push<number>({ sizeOf: (size) => size })
  const most = 32 * 1024 * 1024
  expect(source.offer(most + 1)).toMatchObject({ left: { _tag: 'TooLarge', limit: most, size: most + 1 } })
  expect(source.offer(most)._tag).toBe('Right')
  expect(source.offer(1)).toMatchObject({ left: { _tag: 'Full', bound: 'bytes', limit: most } })
  for (let i = 1; i < 10_000; i++) source.offer(0)
  expect(source.stats().accepted).toBe(10_000)
  expect(source.offer(0)).toMatchObject({ left: { _tag: 'Full', bound: 'count', limit: 10_000, input: 0 } })
})

it('lets a large item wait until another item left', async () => {
  const source = push<number>({ maxBytes: 10, sizeOf: (size) => size })
  for (const size of [4, 4, 5]) source.offer(size)
  let isReady = false
  void source.ready().then(() => (isReady = true))
  await turns()
  expect(isReady).toBe(false)
  await source[Symbol.asyncIterator]().next()
  await turns()
  expect([isReady, source.offer(5)._tag]).toEqual([true, 'Right'])
})

it.each<[string, () => unknown]>([
  ['throws', () => expect.unreachable()],
  ['rejects', () => Promise.reject(new Error('oops'))],
])('reports an error of onDropped that %s, and goes on', async (_, onDropped) => {
  const told: LogEvent[] = []
  const onEvent = (event: LogEvent): void => void told.push(event)
  const published: unknown[] = []
  const publish = (message: unknown): void => void published.push(message)
  subscribe('headrace:defect', publish)
  onTestFinished(() => void unsubscribe('headrace:defect', publish))
  const clock = virtualClock({ start: 7 })
  const source = push<number>({ maxCount: 1, overflow: 'dropOldest', clock, onEvent, onDropped })
  expect([source.offer(1)._tag, source.offer(2)._tag]).toEqual(['Right', 'Right'])
  expect(source.stats()).toMatchObject({ accepted: 2, dropped: 1, waiting: 1 })
  await turns()
  expect(told).toMatchObject([{ _tag: 'Defect', at: 7, where: 'push.onDropped' }])
  expect(published).toEqual(told)
})

it('is read once', () => {
  const source = push<number>()
  source[Symbol.asyncIterator]()
  expect(() => source[Symbol.asyncIterator]()).toThrow('read once')
})

const wrong = [{ maxBytes: NaN }, { overflow: 'Error' }, { sizeOf: 7 }, { onDropped: 7 }, { clock: {} }]
it.each<object>(wrong)('refuses %j', (options) => expect(() => push(options)).toThrow(ConfigError))

it('is typed', () => {
  expectTypeOf(push<string>()).toEqualTypeOf<Push<string>>()
  expectTypeOf(push<string>().offer).toEqualTypeOf<(item: string) => Either<NotTaken, void>>()
  // @ts-expect-error not a policy
  expect(() => push({ overflow: 'block' })).toThrow(ConfigError)
})
