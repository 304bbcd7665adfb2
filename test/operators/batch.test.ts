/** What the published laws of batchers do not say of `batch`: its words, its types, and foreign code. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { concat, from, NEVER, of, Subject, take, throwError, type Observable } from 'rxjs'
import { describe, expect, expectTypeOf, it, vi } from 'vitest'
import { batch, deliver, lift, type BatchOptions, type EventPayload, type Payload } from '../../src/index.ts'
import { memory } from '../../src/sink/memory.ts'
import type { ObservableEither, Refusal, Sink, Threw, TooLarge, ItemBatch } from '../../src/index.ts'
import { jsonArrayFrame, type BatchPayload, type FixedFrame } from '../../src/event/payload.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { throwing } from '../support/check.ts'

const payload = (text: string): EventPayload<string> => {
  return { id: `id of ${text}`, items: [text], text, byteLength: Buffer.byteLength(text) }
}

const rail = (...texts: ReadonlyArray<string>) => from(texts.map((text) => right(payload(text))))

/** All that comes out, and as the last value the error that it fails with. */
const record = (stream: Observable<unknown>): ReadonlyArray<unknown> => {
  const seen: unknown[] = []
  stream.subscribe({ next: (each) => seen.push(each), error: (error: unknown) => seen.push(error) })
  return seen
}

describe('batch', () => {
  it('counts the delay of the first batch from its start, wherever the clock begins', () => {
    const clock = virtualClock()
    clock.tick(10_000)
    const endless = concat(rail('a'), NEVER)
    const seen = record(endless.pipe(batch({ maxDelay: 100, delayFrom: 'lastFlush', clock })))
    clock.tick(99)
    expect(seen).toEqual([])
    clock.tick(1)
    expect(seen).toHaveLength(1)
  })

  it('takes a batch apart: its members are batched as if they had come one by one, without its frame', () => {
    const apart = rail('1', '2', '3', '1234567', '4').pipe(
      batch({ maxCount: 5, frame: { prefix: '{"batch":[', suffix: ']}' } }),
      batch({ maxCount: 2, maxBytes: 8, newId: () => 'b' }),
    )
    const two = (a: string, b: string) => ({
      ...{ id: 'b', items: [a, b], members: [payload(a), payload(b)], frame: jsonArrayFrame },
      ...{ byteLength: 5, closedBy: 'count' },
    })
    expect(record(apart)).toMatchObject([
      right(two('1', '2')),
      { left: { _tag: 'TooLarge', limit: 8, size: 9, id: 'id of 1234567', input: payload('1234567') } },
      right(two('3', '4')),
    ])
  })

  it('fails as its flush fails, after emitting the rest', () => {
    const flush = new Subject<void>()
    const source = new Subject<Either<never, Payload<string>>>()
    const seen = record(source.pipe(batch({ flush })))
    source.next(right(payload('1')))
    flush.error('broken')
    source.next(right(payload('2')))
    expect(seen).toMatchObject([{ right: { items: ['1'], closedBy: 'end' } }, 'broken'])
    expect(record(source.pipe(batch({ flush: throwError(() => 'at once') })))).toEqual(['at once'])
    // Neither the stream that went on, nor one whose flush failed before the source was subscribed.
    expect(source.observed).toBe(false)
  })

  it.each<[object, string]>([
    [{ maxCount: 0 }, 'maxCount must be a whole number of members from 1, or Infinity, not 0'],
    [{ maxBytes: 0 }, 'maxBytes must be a whole number of bytes from 1, or Infinity, not 0'],
    [{ maxBytes: 2 }, 'maxBytes must be more than the 2 bytes of the frame, not 2'],
    [{ maxDelay: 0 }, 'maxDelay must be a number of milliseconds above 0, or Infinity, not 0'],
    [{ frame: 'text' }, 'options of batch: frame must be a frame, { prefix, suffix }'],
    [{ frame: { prefix: 1, suffix: '' } }, 'frame must be a frame'],
    [{ frame: { prefix: '', suffix: 1 } }, 'frame must be a frame'],
    [{ frame: { prefix: '' } }, 'frame must be a frame'],
  ])('throws for %j when the pipeline is put together', (bad, why) => expect(() => batch(bad)).toThrow(why))

  it.each<[unknown, string]>([
    ['x', 'expected a payload, got a string: put encode() first, or give sizeOf'],
    [{ ...payload('x'), contentType: 'text/csv' }, 'joins JSON, and the payload is text/csv: give sizeOf'],
    [{ ...payload('x'), signature: 'a' }, 'put sign after batch'],
  ])('fails for %j, which cannot be joined', (given, message) => {
    // Code without types.
    const [error] = record(of(right(given as Payload<string>)).pipe(batch()))
    expect(error).toBeInstanceOf(TypeError)
    expect(throwing(error)).toThrow(message)
  })
})

describe('what batch hands back at unsubscribing', () => {
  const published = (name: string, options: BatchOptions): ReadonlyArray<unknown> => {
    const seen: unknown[] = []
    const listener = (message: unknown): void => void seen.push(message)
    subscribe(name, listener)
    const open = concat(rail('1', '2'), NEVER).pipe(batch({ clock: virtualClock({ start: 7 }), ...options }))
    open.subscribe().unsubscribe()
    unsubscribe(name, listener)
    return seen
  }

  it('is published without a listener, and only then', () => {
    expect(published('headrace:refused', { abandoned: () => undefined })).toEqual([])
    expect(published('headrace:refused', {})).toMatchObject([
      { _tag: 'NotAccepted', at: 7, from: 'batch', refusal: { _tag: 'Closed', input: { text: '1' } } },
      { _tag: 'NotAccepted', at: 7, from: 'batch', refusal: { _tag: 'Closed', input: { text: '2' } } },
    ])
  })

  it('is batches and items, and nothing else, when it is cut within an emission', () => {
    const source = new Subject<Either<string, Payload<string>>>()
    const back: unknown[] = []
    const abandoned = (all: ReadonlyArray<Payload<unknown>>) => back.push(all.map(({ items }) => items))
    const subscription = source.pipe(batch({ maxCount: 2, abandoned })).subscribe(() => {
      source.next(left('ended'))
      for (const text of ['c', 'd', 'e']) source.next(right(payload(text)))
      subscription.unsubscribe()
    })
    for (const text of ['a', 'b']) source.next(right(payload(text)))
    expect(back).toEqual([[['c', 'd'], ['e']]])
  })

  const limits = [{ maxCount: 2 }, { maxBytes: 4 }, { by: String, maxKeys: 1 }]
  it.each(limits)('is all that came if newId throws, with %j', (limit) => {
    const back: string[] = []
    const abandoned = (all: ReadonlyArray<Payload<unknown>>) => back.push(...all.map(({ id }) => id))
    const throwsOnce = vi.fn(() => 'b').mockImplementationOnce(throwing('no id'))
    record(rail('1', '2', '3').pipe(batch(), batch({ ...limit, newId: throwsOnce, abandoned })))
    expect(back.join()).toBe('id of 1,id of 2,id of 3')
  })

  it('goes on when the listener throws', () => {
    const error = new Error('not now')
    const abandoned = throwing(error)
    const defect = { _tag: 'Defect', at: 7, from: 'batch', where: 'abandoned', error }
    expect(published('headrace:defect', { abandoned })).toMatchObject([defect])
  })
})

describe('batch of any items', () => {
  it('fails with what newId throws, and hands back the items', () => {
    const back: Array<ReadonlyArray<number>> = []
    const newId = throwing('no id')
    const abandoned = (items: ReadonlyArray<number>) => back.push(items)
    const failing = of(1, 2, 3).pipe(lift(), batch({ sizeOf: () => 0, maxCount: 2, newId, abandoned }))
    expect([record(failing), back]).toEqual([[new Error('no id')], [[1, 2]]])
    // Both are closed at the end of the source, and the second one is not taken.
    record(of(4, 5).pipe(lift(), batch({ sizeOf: () => 0, by: String, abandoned }), take(1)))
    expect(back).toEqual([[1, 2], [5]])
  })

  it.each([-1, NaN, Infinity, '5', undefined])('refuses an item for which sizeOf answers %s', (size) => {
    const shown = typeof size === 'string' ? 'a string' : String(size)
    const message = `sizeOf must answer a number of bytes from 0, got ${shown}`
    const refusal = { _tag: 'Invalid', input: 'item', faults: [{ path: '', message }] }
    const given = of(right('item'))
    expect(record(given.pipe(batch({ sizeOf: () => size as number })))).toMatchObject([left(refusal)])
  })
})

describe('batch by key', () => {
  const by = (text: string): string => {
    if (text.startsWith('-')) throw new Error('planted')
    // What code without types may answer.
    return text.startsWith('?') ? (undefined as never) : text.charAt(0)
  }

  it('charges a key that throws, or is no string, to its item', () => {
    const message = 'by must answer a string, got undefined'
    const refusals = [
      left({ _tag: 'Threw', operator: 'batch', error: new Error('planted'), input: { id: 'id of -1' } }),
      left({ _tag: 'Invalid', faults: [{ path: '', message }], input: { id: 'id of ?1' } }),
    ]
    const given = ['a1', '-1', 'b1', '?1', 'a2']
    expect(record(rail(...given).pipe(batch({ by })))).toMatchObject([
      ...refusals,
      right({ items: ['a1', 'a2'], closedBy: 'end', byteLength: 7 }),
      right({ items: ['b1'], closedBy: 'end' }),
    ])
    expect(record(from(given).pipe(lift(), batch({ by, sizeOf: () => 1 })))).toMatchObject([
      left({ _tag: 'Threw', input: '-1' }),
      left({ _tag: 'Invalid', input: '?1' }),
      right({ items: ['a1', 'a2'], byteLength: 2 }),
      right({ items: ['b1'] }),
    ])
  })

  it('keeps 1,000 keys open, with one timer', () => {
    const clock = virtualClock()
    const source = new Subject<Either<never, Payload<string>>>()
    const seen = record(source.pipe(batch({ by: (text) => text, clock })))
    for (let n = 0; n < 1_001; n++) {
      source.next(right(payload(String(n))))
      clock.tick(1)
    }
    expect(seen).toMatchObject([right({ items: ['0'], closedBy: 'keys' })])
    expect(clock.pending()).toBe(1)
    clock.tick(4_000)
    expect(seen.length).toBe(2)
    clock.tick(999)
    expect([seen.length, clock.pending()]).toEqual([1_001, 0])
    expect(seen.at(-1)).toMatchObject(right({ items: ['1000'], closedBy: 'delay' }))
  })
})

describe('the types of batch', () => {
  it('know the item in a key', () => {
    const source: ObservableEither<'ended', Payload<{ readonly tenant: string }>> = NEVER
    expectTypeOf(source.pipe(batch({ by: ({ tenant }) => tenant }))).toEqualTypeOf<
      ObservableEither<'ended' | Refusal | Threw, BatchPayload<{ readonly tenant: string }, FixedFrame>>
    >()
    // @ts-expect-error a key is a string
    source.pipe(batch({ by: ({ tenant }) => tenant.length }))
    // @ts-expect-error the item has no such field
    source.pipe(batch({ by: ({ other }) => String(other) }))
  })

  it('keep the left side and the item', () => {
    const source: ObservableEither<'ended', Payload<{ readonly n: number }>> = NEVER
    expectTypeOf(source.pipe(batch())).toEqualTypeOf<
      ObservableEither<'ended' | TooLarge, BatchPayload<{ readonly n: number }, FixedFrame>>
    >()
    // @ts-expect-error what is batched has been encoded
    expectTypeOf(batch()).toBeCallableWith(of(right(5)))
  })

  it('say what a batch of any items is', () => {
    const source: ObservableEither<'ended', Date> = NEVER
    const many = source.pipe(batch({ sizeOf: (date) => date.getTime() }))
    expectTypeOf(many).toEqualTypeOf<ObservableEither<'ended' | Refusal | Threw, ItemBatch<Date>>>()
    const hook: Sink<Payload<unknown>> = memory()
    // @ts-expect-error a webhook takes payloads
    many.pipe(deliver(hook))
    // @ts-expect-error a frame is for JSON
    expect(() => batch({ sizeOf: () => 1, frame: jsonArrayFrame })).toThrow('unknown option "frame"')
  })
})
