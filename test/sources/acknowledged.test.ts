import * as E from 'fp-ts/lib/Either.js'
import { Subject, lastValueFrom, map, mergeMap, pipe, toArray, type ObservedValueOf } from 'rxjs'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { batch, deliver, encode, enrich, filterRight, flatMapRight, mapRight } from '../../src/index.ts'
import { isOutcome, partlyFailed, refused, sink, splitRight, validateRight } from '../../src/index.ts'
import type { BatchPayload, Outcome, Refusal, Sink, Skipped, Threw } from '../../src/index.ts'
import { Event, toWebhookBody } from '../../src/event/index.ts'
import type { LogEvent } from '../../src/log/index.ts'
import { memory } from '../../src/sink/memory.ts'
import { acknowledged, type Answers } from '../../src/sources/acknowledged.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { all, turns } from '../support/check.ts'

/** Answers to messages that are their items, as they were called: `ack 1`. */
const answers = <M>(clock = virtualClock()) => {
  const calls: string[] = []
  const told: string[] = []
  const note = (verb: string) => (message: M) => calls.push(`${verb} ${String(message)}`)
  const given: Answers<M, M> = {
    item: (message) => message,
    ack: note('ack'),
    nak: note('nak'),
    reject: note('reject'),
    onEvent: (event: LogEvent) => {
      if (event._tag === 'Defect') told.push(`${event.where}: ${String(event.error)}`)
    },
    clock,
  }
  return { calls, told, given, clock }
}
/** A source that stays open. */
const open = async function* <M>(...messages: ReadonlyArray<M>): AsyncGenerator<M> {
  yield* messages
  await new Promise(() => undefined)
}

describe('acknowledged', () => {
  it('answers each message by what became of it', async () => {
    const { calls, told, given } = answers<number>()
    const some = sink('some', async ({ items }: { items: ReadonlyArray<number> }) =>
      items.includes(61)
        ? E.left(
            partlyFailed(items.map((n) => (n === 61 ? E.left(refused('no')) : E.right({ sink: 'some' })))),
          )
        : E.right({ sink: 'some' }),
    )
    const ended = await all(
      acknowledged([1, 2, 3, 4, 5, 6, 7, 8], given, (items$) =>
        items$.pipe(
          mapRight((n) => (n === 2 ? JSON.parse('{') : n) as number),
          filterRight((n) => n !== 3),
          // Of the host: it makes another Either.
          map((each) => (each._tag === 'Right' && each.right === 4 ? E.map((n: number) => n)(each) : each)),
          flatMapRight((n) => (n === 8 ? E.left('of the host') : E.right(n))),
          enrich(async (n) => n),
          splitRight((n) => (n === 6 ? [60, 61] : [n])),
          batch({ sizeOf: () => 1, maxCount: 2 }),
          deliver(some),
        ),
      ),
    )
    expect(ended).toHaveLength(6)
    expect(calls).toEqual(['reject 2', 'ack 3', 'ack 1', 'ack 5', 'reject 8', 'reject 6', 'ack 7', 'nak 4'])
    expect(told).toEqual([
      expect.stringMatching(/^acknowledged: Error: no operator answered 1 messages.*use mapRight for/),
    ])
  })

  it('shows nothing of the answer, and has the types of the pipeline', async () => {
    interface Message {
      readonly value: string
      ack(): void
      nak(): void
      term(): void
      working(): void
    }
    const noted: string[] = []
    const message = (value: string): Message => ({
      value,
      ack: () => noted.push('ack'),
      nak: () => noted.push('nak'),
      term: () => noted.push('term'),
      working: () => noted.push('working'),
    })
    const sent: Sink<BatchPayload<Event>> = memory()
    const ended$ = acknowledged(
      [message('{"type":"delete","userId":"u1"}'), message('x'), message('{}')],
      {
        item: (m) => m.value,
        ack: (m) => m.ack(),
        nak: (m) => m.nak(),
        reject: (m) => m.term(),
        extend: (m) => m.working(),
      },
      (items$) =>
        items$.pipe(
          map((each) => {
            expect(JSON.stringify({ ...each })).toMatch(/^{"_tag":"Right","right":"[^}]*}"?}?$/)
            expect(Object.getOwnPropertySymbols({ ...each })).toEqual([])
            return each
          }),
          mapRight((text): unknown => JSON.parse(text)),
          validateRight(Event),
          filterRight((event) => event.type !== 'alias'),
          encode(toWebhookBody),
          batch({ maxCount: 100 }),
          deliver(sent),
        ),
    )
    expectTypeOf<ObservedValueOf<typeof ended$>['_tag']>().toEqualTypeOf<
      (Threw | Refusal | Skipped<unknown> | Outcome<unknown>)['_tag']
    >()
    expect((await all(ended$)).filter(isOutcome)).toHaveLength(1)
    expect(noted).toEqual(['term', 'term', 'ack'])
  })

  it('extends while a message is not answered, and forgets a lost one', async () => {
    const { calls, given, clock } = answers<string>()
    const gone = new Set<string>()
    const asked = { ...given, extend: (m: string) => calls.push(`extend ${m}`), extendEvery: 10 }
    const slow = sink('slow', () => clock.sleep(25).then(() => E.right({ sink: 'slow' })))
    const sub = acknowledged(
      open('a', 'b'),
      { ...asked, lost: (m) => gone.has(m) },
      deliver(slow, { clock }),
    ).subscribe()
    await clock.advance(10)
    gone.add('b')
    await clock.advance(90)
    expect(calls).toEqual(['extend a', 'extend b', 'extend a', 'ack a'])
    expect(clock.pending()).toBe(0)
    sub.unsubscribe()
    expect(calls).toHaveLength(4)
  })

  it('says after 10 s that nothing is answered, but not while a delivery is under way', async () => {
    const { calls, told, given, clock } = answers<number>()
    const never = sink('never', () => new Promise(() => undefined), { timeout: Infinity })
    const window2 = { ...given, window: 2 }
    const waits = acknowledged(open(1, 2, 3), window2, deliver(never, { clock })).subscribe()
    await clock.advance(60_000)
    expect(told).toEqual([])
    waits.unsubscribe()
    const loses = acknowledged(
      open(1, 2, 3),
      window2,
      map((each) => ({ ...each })),
    ).subscribe()
    await clock.advance(60_000)
    expect(told).toEqual([
      expect.stringMatching(/nothing was answered for 10 s, and the window of 2 .*E\.chain/),
    ])
    loses.unsubscribe()
    expect(calls).toEqual(['nak 1', 'nak 2', 'nak 1', 'nak 2'])
    expect(clock.pending()).toBe(0)
  })

  it('reports errors of the host, and ends after the last answer', async () => {
    const { calls, told, given } = answers<number>()
    const oops = (): never => {
      throw new Error('oops')
    }
    let settle = (): void => undefined
    const ack = (n: number): unknown => {
      if (n === 1) oops()
      return n === 2 ? Promise.reject(new Error('later')) : new Promise<void>((resolve) => (settle = resolve))
    }
    const source = async function* () {
      yield* [1, 2, 3, 4]
      throw new Error('of the source')
    }
    const item = (n: number): number => (n === 4 ? oops() : n)
    let error: unknown
    acknowledged(source(), { ...given, ack, item }, deliver(memory())).subscribe({
      error: (e) => (error = e),
    })
    await turns(5)
    expect(told).toEqual(
      ['ack: Error: oops', 'ack: Error: later', 'item: Error: oops'].map((t) => `acknowledged: ${t}`),
    )
    expect([calls, error]).toEqual([['reject 4'], undefined])
    settle()
    await turns(2)
    expect(String(error)).toBe('Error: of the source')
    const { reject: _, ...without } = given
    await all(
      acknowledged(
        [4, 5],
        { ...without, item },
        pipe(
          flatMapRight(() => E.left('no')),
          deliver(memory()),
        ),
      ),
    )
    expect(calls).toEqual(['reject 4', 'nak 4', 'ack 5'])
  })

  it('puts back what is under way when the pipeline ends or fails, and what comes afterwards', async () => {
    const { calls, told, given } = answers<number>()
    const late = new Subject<IteratorResult<number, undefined>>()
    const more = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise<IteratorResult<number, undefined>>((resolve) => late.subscribe(resolve)),
      }),
    }
    const stop = new Subject<void>()
    const never = sink('never', () => new Promise(() => undefined))
    const ended = lastValueFrom(acknowledged(more, given, deliver(never, { stop })).pipe(toArray()))
    late.next({ value: 1, done: false })
    await turns()
    stop.next()
    expect(await ended).toMatchObject([{ _tag: 'Abandoned', item: 1 }])
    late.next({ value: 2, done: false })
    await turns()
    expect([calls, told]).toEqual([['nak 1', 'nak 2'], []])
    const fails = acknowledged(
      [3],
      given,
      mergeMap(() => {
        throw new Error('pipeline')
      }),
    )
    await expect(all(fails)).rejects.toThrow('pipeline')
    expect([calls.at(-1), told]).toEqual(['nak 3', []])
  })
})
