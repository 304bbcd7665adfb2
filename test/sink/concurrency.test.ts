import { flow } from 'fp-ts/lib/function.js'
import { right } from 'fp-ts/lib/Either.js'
import { of, Subject, take, type Observable } from 'rxjs'
import { expect, expectTypeOf, test } from 'vitest'
import type { Verdict, Payload } from '../../src/index.ts'
import { onlyAttempt, sink, withConcurrency, withTimeout, type Layer, type Sink } from '../../src/index.ts'
import { scriptedSink, virtualClock, type Reply } from '../../src/testing/index.ts'
import { collectGarbage } from '../support/check.ts'
import { concurrencyLayer } from '../../src/sink/concurrency.ts'
import { deliverOnce, hear } from './deliverOnce.ts'

const taken: Verdict = right({ sink: 'inner' })

test('drops the queue of a key when it is empty', async () => {
  const keyed = withConcurrency({ concurrency: 1, by: (item: { key: object }) => item.key })(
    sink('inner', async () => taken),
  )
  const keys = await (async () => {
    const items = [{ key: {} }, { key: {} }]
    const verdicts = items.map((item) => deliverOnce(keyed, item))
    const cut = keyed.deliver({ key: items[0]?.key ?? {} }, onlyAttempt).subscribe()
    cut.unsubscribe()
    await Promise.all(verdicts)
    return items.map(({ key }) => new WeakRef(key))
  })()
  await collectGarbage()
  expect(keys.map((key) => key.deref())).toEqual([undefined, undefined])
  expect(keyed.name).toBe('inner')
})

test('deliveries that end at once start in several turns of the event loop, if asked for', async () => {
  const first = new Subject<Verdict>()
  const slow = (): Observable<Verdict> => {
    const until = performance.now() + 30
    while (performance.now() < until) continue
    return of(taken)
  }
  const inner: Sink<number> = { ...sink('inner', () => taken), deliver: (n) => (n === 0 ? first : slow()) }
  const limited = concurrencyLayer<number>({ concurrency: 1 }, () => undefined)(inner)
  const [, ...behind] = [0, 1, 2, 3].map((n) => hear(limited, n))
  first.complete()
  expect(behind.map(({ told }) => told.length)).toEqual([2, 2, 0])
  await expect.poll(() => behind[2]?.told).toEqual([taken, 'complete'])
})

test('a waiting delivery that its own verdict cancels ends inside, and frees its place once', async () => {
  const replies: ReadonlyArray<Reply> = [{}, { verdict: taken }, { verdict: taken, rest: Infinity }]
  const inner = scriptedSink<number>({ clock: virtualClock(), reply: (item) => replies[item] ?? {} })
  const one = withConcurrency({ concurrency: 1 })(inner)
  const first = one.deliver(0, onlyAttempt).subscribe()
  for (const item of [1, 2]) one.deliver(item, onlyAttempt).pipe(take(1)).subscribe()
  first.unsubscribe()
  await Promise.resolve()
  for (const item of [0, 0]) one.deliver(item, onlyAttempt).subscribe()
  expect(inner.running()).toBe(1)
})

test('a queue that is empty drops no newer one of its key', async () => {
  const inner = scriptedSink<string>({ clock: virtualClock(), reply: () => ({}) })
  const keyed = withConcurrency({ concurrency: 2, by: (item: string) => item })(inner)
  const start = () => keyed.deliver('key', onlyAttempt).subscribe()
  const [first, second] = [start(), start()]
  first.unsubscribe()
  // Between the two microtasks in which the empty queue looks.
  queueMicrotask(() => [start(), start()])
  second.unsubscribe()
  await Promise.resolve()
  start()
  expect(inner.running()).toBe(2)
})

test('1,000 may wait by default', () => {
  const inner = scriptedSink<number>({ clock: virtualClock(), reply: () => ({}) })
  const limited = withConcurrency({ concurrency: 16 })(inner)
  const refusedItems: number[] = []
  for (let item = 0; item < 1_020; item++) {
    limited.deliver(item, onlyAttempt).subscribe(() => refusedItems.push(item))
  }
  expect(refusedItems).toEqual([1_016, 1_017, 1_018, 1_019])
})

test('types: a layer for any sink without a key, for sinks of the keyed item with one', () => {
  expectTypeOf(withConcurrency({ concurrency: 1 })).toExtend<Layer>()
  interface Event {
    readonly userId: string
  }
  const webhook = sink('webhook', (_payload: Payload<unknown>) => taken)
  const by = (payload: Payload<Event>) => payload.items[0].userId
  const ordered = withConcurrency({ concurrency: 1, by })
  expectTypeOf(ordered(webhook)).toExtend<Sink<Payload<Event>>>()
  // @ts-expect-error numbers have no such key
  ordered(sink('numbers', (_n: number) => taken))
  // @ts-expect-error nor may they be given to it
  ordered(webhook).deliver(5, onlyAttempt)
  const guarded = flow(withTimeout({ timeout: 5_000 }), withConcurrency({ concurrency: 16 }))
  expectTypeOf(guarded(webhook)).toEqualTypeOf<Sink<Payload<unknown>>>()
})
