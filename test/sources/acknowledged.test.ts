import * as E from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { map, mergeMap, take, type ObservedValueOf } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { batch, deliver, encode, filterRight, flatMapRight, mapRight, partlyFailed } from '../../src/index.ts'
import { isOutcome, refused, sink, splitRight, validateRight } from '../../src/index.ts'
import type { BatchPayload, Outcome, Refusal, Sink, Skipped, Threw } from '../../src/index.ts'
import { Event, toWebhookBody } from '../../src/event/index.ts'
import type { LogEvent } from '../../src/log/index.ts'
import { memory } from '../../src/sink/memory.ts'
import { acknowledged, type Answers } from '../../src/sources/acknowledged.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { all, throwing, turns } from '../support/check.ts'

const clock = virtualClock()
const noting = () => {
  const calls: string[] = []
  const told: string[] = []
  const note = (verb: string) => (message: number) => calls.push(`${verb} ${String(message)}`)
  const answers: Answers<number, number> = {
    ...{ item: (message) => message, ack: note('ack'), nak: note('nak'), reject: note('reject'), clock },
    onEvent: (one: LogEvent) => {
      if (one._tag === 'Defect' && one.at === clock.now()) told.push(`${one.where}: ${String(one.error)}`)
    },
  }
  return { calls, told, answers }
}
const oops = throwing('oops')

describe('acknowledged', () => {
  it('answers each message by what became of it', async () => {
    const { calls, told, answers } = noting()
    const some = sink('some', async ({ items }: BatchPayload<number>) =>
      E.left(partlyFailed(items.map((n) => (n === 61 ? E.left(refused('no')) : E.right({ sink: 'some' }))))),
    )
    const ended$ = acknowledged([1, 2, 3, 4, 5, 6, 7, 8], answers, (items$) =>
      items$.pipe(
        mapRight((n) => (n === 2 ? oops() : n)),
        filterRight((n) => n !== 3),
        // A host's own: it makes another Either.
        map((each) => (each._tag === 'Right' && each.right === 4 ? E.map((n: number) => n)(each) : each)),
        flatMapRight((n) => (n === 8 ? E.left({ _tag: 'Closed' }) : E.right(n))),
        splitRight((n) => (n === 6 ? [60, 61] : [n])),
        encode((n) => ({ n })),
        batch({ maxCount: 2 }),
        batch({ maxCount: 3 }),
        deliver(some),
      ),
    )
    expect(await all(ended$)).toHaveLength(5)
    expect(calls.sort()).toEqual('ack 1,ack 3,ack 5,ack 7,nak 4,reject 2,reject 6,reject 8'.split(','))
    expect(String(told)).toMatch(/^acknowledged: pipeline: Error: 1 messages .* use mapRight for/)
  })

  const early = [take<E.Either<never, number>>(1), mergeMap(throwing('pipeline'))]
  it.each(early)('ends after its last answer, also if the pipeline ends first', async (pipeline) => {
    const { calls, told, answers } = noting()
    const nak = (n: number) => turns().then(() => calls.push(`nak ${String(n)}`))
    await all(acknowledged([1, 2], { ...answers, nak }, pipeline)).catch(() => undefined)
    expect([calls, told]).toEqual([['nak 1'], []])
  })

  it('shows nothing of the answer, and has the types of the pipeline', async () => {
    const calls: string[] = []
    const target: Sink<BatchPayload<Event>> = memory()
    const messages = ['{"type":"delete","userId":"u1"}', 'x', '{}'].map((value) => ({
      ...{ value, ack: () => calls.push('ack'), nak: () => calls.push('nak') },
      ...{ term: () => calls.push('term'), working: () => calls.push('working') },
    }))
    const ended$ = acknowledged(
      messages,
      {
        item: (m) => m.value,
        ack: (m) => m.ack(),
        nak: (m) => m.nak(),
        reject: (m) => m.term(),
        extend: (m) => m.working(),
      },
      (items$) =>
        items$.pipe(
          mapRight((text): unknown => JSON.parse(text)),
          validateRight(Event),
          filterRight((event) => event.type !== 'alias'),
          encode(toWebhookBody),
          map((each) => {
            expect([Object.keys(each).length, Object.getOwnPropertySymbols({ ...each })]).toEqual([2, []])
            return each
          }),
          batch({ maxCount: 100 }),
          deliver(target),
        ),
    )
    expectTypeOf<ObservedValueOf<typeof ended$>['_tag']>().toEqualTypeOf<
      (Threw | Refusal | Skipped<unknown> | Outcome<unknown>)['_tag']
    >()
    expect((await all(ended$)).filter(isOutcome)).toHaveLength(1)
    expect(calls).toEqual(['term', 'term', 'ack'])
  })

  it('reports errors of the host, and a standstill', async () => {
    const { calls, told, answers } = noting()
    const item = (n: number): number => (n === 3 ? oops() : n)
    const ack = (n: number): unknown => (n === 1 ? oops() : Promise.reject(new Error('later')))
    await all(acknowledged([1, 2, 3], { ...answers, ack, item }, deliver(memory())))
    const { reject: _, ...others } = answers
    await all(acknowledged([3], { ...others, item }, deliver(memory())))
    await expect(all(acknowledged([4], answers, mergeMap(throwing('pipeline'))))).rejects.toThrow('pipeline')
    const full = { ...answers, window: 1, extend: throwing('more'), extendEvery: 9_000 }
    const loses = map((each: object) => ({ ...each }))
    const source = { [Symbol.iterator]: () => ({ next: () => ({ value: 5 }), return: oops }) }
    const subscription = acknowledged(source, full, loses).subscribe()
    await turns()
    await clock.advance(10_000)
    subscription.unsubscribe()
    expect(calls).toEqual(['reject 3', 'nak 3', 'nak 4', 'nak 5'])
    const where = ['item: Error: oops', 'ack: Error: oops', 'ack: Error: later', 'item: Error: oops']
    expect(told.slice(0, 4).sort()).toEqual(where.map((each) => `acknowledged: ${each}`).sort())
    expect(told.slice(4)).toEqual([
      'acknowledged: extend: Error: more',
      expect.stringMatching(/^acknowledged: standstill: .* 0 calls .*, 1 messages .* no deliver at its end/),
      'pull: return of the source: Error: oops',
    ])
    expect(() => acknowledged([], answers, 5 as never)).toThrow('pipeline of acknowledged: must be')
  })

  const broken = [{ then: () => oops() }, Object.defineProperty({}, 'then', { get: () => oops() })]
  it('reports an answer that does not settle, and a thenable that throws', async () => {
    const { told, answers } = noting()
    const ack = (n: number): unknown => broken[n] ?? new Promise(() => undefined)
    await all(acknowledged([0, 1], { ...answers, ack }, deliver(memory())))
    expect(told.splice(0)).toEqual(broken.map(() => 'acknowledged: ack: Error: oops'))
    const hanging = acknowledged([2], { ...answers, ack }, deliver(memory())).subscribe()
    await clock.advance(10_000)
    expect(told).toEqual([expect.stringMatching(/standstill: .* 10 s; 1 calls of ack.*, 0 messages.* hangs/)])
    hanging.unsubscribe()
    for (const window of [1, 2]) {
      const source = async function* () {
        yield 2
        await new Promise(() => undefined)
      }
      const loses = map((each: object) => ({ ...each }))
      const cut = acknowledged(source(), { ...answers, nak: ack, window }, loses).subscribe()
      await turns().then(() => cut.unsubscribe())
      expect([clock.pending(), told.length]).toEqual([0, 1])
    }
  })

  it('reports a standstill once, and none while messages are answered or none is there', async () => {
    const { told, answers } = noting()
    const messages = async function* () {
      yield* [1, 2]
      await clock.sleep(30_000)
      yield* [3, 4, 5, 6]
    }
    const ack = (n: number): unknown => clock.sleep(n < 3 ? n * 6_000 : 15_000)
    acknowledged(messages(), { ...answers, ack, window: 2 }, deliver(memory())).subscribe()
    const counts: number[] = []
    for (const wait of [45_999, 1, 100_000]) counts.push(await clock.advance(wait).then(() => told.length))
    expect(counts).toEqual([0, 1, 1])
  })

  const unfit = [async () => 1, async () => oops(), () => E.left(1)]
  it.each<() => unknown>(unfit)('rejects a message whose item is a promise or an Either', async (item) => {
    const { calls, told, answers } = noting()
    expect(await all(acknowledged([1], { ...answers, item: item as () => 1 }, deliver(memory())))).toEqual([])
    expect([calls, String(told)]).toEqual([['reject 1'], expect.stringMatching(/item: .*answered an? .*: /)])
  })

  it('extends while an answer is under way, once at a time, and not after an unsubscribe', async () => {
    const { calls, answers } = noting()
    const extend = (n: number) => clock.sleep(15).then(() => calls.push(`extended ${String(n)}`))
    const slow = { ...answers, ack: () => clock.sleep(70), extend, extendEvery: 10 }
    const delivery = acknowledged([1], slow, deliver(memory())).subscribe()
    await clock.advance(46)
    expect(calls).toEqual(['extended 1', 'extended 1'])
    delivery.unsubscribe()
    await clock.runAll()
    expect(calls).toHaveLength(2)
  })
})

it('splitRight gives the parts in order, validateRight the faults: marbles', () =>
  new TestScheduler((seen, wanted) => expect(seen).toEqual(wanted)).run(({ cold, expectObservable }) => {
    const a: E.Either<string, string> = E.right('ab')
    const x: E.Either<string, never> = E.left('x')
    const skipped = E.left({ _tag: 'Skipped', item: '' })
    const whole$ = cold<E.Either<string, string>>('a-----(xe)-|', { a, x, e: E.of<string, string>('') })
    const split$ = whole$.pipe(splitRight((text) => [...text]))
    expectObservable(split$).toBe('(ab)--(xs)-|', { a: E.right('a'), b: E.right('b'), x, s: skipped })
    const holes$ = whole$.pipe(splitRight(() => new Array<string>(2)))
    expectObservable(holes$).toBe('(hh)--(xhh)|', { h: E.right(undefined), x })
    const faults = [{ path: '', message: 'must be a string, not a number' }]
    const mixed$ = cold<E.Either<string, unknown>>('-a-x-n-#', { a, x, n: E.right(1) })
    const n = E.left({ _tag: 'Invalid', faults, input: 1 })
    expectObservable(mixed$.pipe(validateRight(t.string))).toBe('-a-x-n-#', { a, x, n })
  }))
