import type { ObservableEither } from '../../src/core/outcome.ts'
import type { Refusal, Threw, TooLarge } from '../../src/core/refusal.ts'
import { deliver } from '../../src/operators/deliver.ts'
import { lift } from '../../src/operators/rightSide.ts'
import { sink } from '../../src/sink/fromFunction.ts'
import { memory } from '../../src/sink/memory.ts'
import type { Sink } from '../../src/sink/sink.ts'
import { frameBytes, bytesOf, bodyOf, jsonArrayFrame } from '../../src/event/payload.ts'
import type {
  BatchPayload,
  EventPayload,
  FixedFrame,
  Frame,
  ItemBatch,
  Payload,
} from '../../src/event/payload.ts'
import { batch } from '../../src/operators/batch.ts'
import type { BatchOptions } from '../../src/operators/batch.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { right, type Either } from 'fp-ts/lib/Either.js'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { NEVER, Subject, concat, from, map, of, range, take, tap, throwError } from 'rxjs'
import { describe, expect, expectTypeOf, it } from 'vitest'

const payload = (text: string): EventPayload<string> => ({
  id: `id of ${text}`,
  items: [text],
  text,
  byteLength: Buffer.byteLength(text),
})

/** What a stream says, in short: `a,b by count`, `too large: c`, `left x`. */
const inWords = (each: Either<TooLarge | string, BatchPayload<string>>): string => {
  if (each._tag === 'Right') return `${each.right.items.join()} by ${each.right.closedBy}`
  return typeof each.left === 'string' ? `left ${each.left}` : `too large: ${String(each.left.id)}`
}

const words = (
  source: ObservableEither<string, Payload<string>>,
  options: BatchOptions = {},
): ReadonlyArray<string> => {
  const seen: string[] = []
  source.pipe(batch(options), map(inWords)).subscribe({
    next: (each) => seen.push(each),
    error: (error: unknown) => seen.push(`error ${String(error)}`),
    complete: () => seen.push('complete'),
  })
  return seen
}

const rail = (...texts: ReadonlyArray<string>): ObservableEither<never, Payload<string>> =>
  from(texts.map((text) => right(payload(text))))

describe('batch', () => {
  it('turns away what is too large by itself, with limit, size and id, and the open batch does not notice', () => {
    const results: unknown[] = []
    rail('1', '1234567', '2')
      .pipe(batch({ maxBytes: 8 }))
      .subscribe((each) => results.push(each))
    expect(results).toMatchObject([
      { left: { _tag: 'TooLarge', limit: 8, size: 9, id: 'id of 1234567', input: { text: '1234567' } } },
      {
        right: { items: ['1', '2'], members: [{ text: '1' }, { text: '2' }], byteLength: 5, closedBy: 'end' },
      },
    ])
  })

  it('knows the bytes of a frame that is written anew at every sending, as long as its width is fixed', () => {
    const tracking: Frame = { prefix: '{"batch":[', suffix: ']}', sentAt: true }
    const batches: Array<BatchPayload<string>> = []
    rail('{"a":1}', '{"é":2}', '{"c":3}')
      .pipe(batch({ frame: tracking, maxBytes: frameBytes(tracking) + 16 }))
      .subscribe((each) => each._tag === 'Right' && batches.push(each.right))
    expect(batches.map(({ items }) => items.length)).toEqual([2, 1])
    for (const each of batches)
      for (const now of [0, 951_782_400_000, Date.UTC(9999, 11, 31)])
        expect(bytesOf(each, now)).toEqual(Buffer.from(bodyOf(each, now)))
    for (const each of batches) expect(bytesOf(each, 1).length).toBe(each.byteLength)
    expect(bodyOf(batches[1] ?? payload(''), 0)).toBe(
      '{"batch":[{"c":3}],"sentAt":"1970-01-01T00:00:00.000Z"}',
    )
  })

  it('takes a batch apart: its members are batched as if they had come one by one, without its frame', () => {
    const seen: unknown[] = []
    const given: unknown[] = []
    rail('1', '2', '3', '1234567', '4')
      .pipe(
        batch({ maxCount: 5, frame: { prefix: '{"batch":[', suffix: ']}' } }),
        tap((each) => each._tag === 'Right' && given.push(...each.right.members)),
        batch({ maxCount: 2, maxBytes: 8 }),
      )
      .subscribe((each) => seen.push(each._tag === 'Left' ? each.left.id : each.right))
    expect(seen).toMatchObject([
      { items: ['1', '2'], byteLength: 5, closedBy: 'count' },
      'id of 1234567',
      { items: ['3', '4'], byteLength: 5, closedBy: 'count' },
    ])
    const batches = seen.filter((each): each is BatchPayload<string> => typeof each === 'object')
    expect(batches.map((each) => bodyOf(each, 0))).toEqual(['[1,2]', '[3,4]'])
    expect(batches.flatMap(({ members }) => members)).toEqual(given.filter((_, at) => at !== 3))
  })

  it('stops an endless synchronous source as soon as nothing listens', () => {
    let pulled = 0
    const endless = range(0, 1e9).pipe(map((n) => right(payload(String((pulled = n))))))
    endless.pipe(batch({ maxCount: 10 }), take(2)).subscribe()
    expect(pulled).toBe(19)
  })

  it('fails as its flush fails, after emitting the rest', () => {
    const flush = new Subject<void>()
    const source = new Subject<Either<never, Payload<string>>>()
    const seen = words(source, { flush })
    source.next(right(payload('1')))
    flush.error('broken')
    source.next(right(payload('2')))
    expect(seen).toEqual(['1 by end', 'error broken'])
    expect(words(source, { flush: throwError(() => 'at once') })).toEqual(['error at once'])
    expect(source.observed).toBe(false)
  })

  it.each([
    [{ maxCount: 0 }, 'maxCount must be a whole number of members from 1, or Infinity, not 0'],
    [{ maxCount: NaN }, 'maxCount must'],
    [{ maxCount: 1.5 }, 'maxCount must'],
    [{ maxBytes: 0 }, 'maxBytes must be a whole number of bytes from 1, or Infinity, not 0'],
    [{ maxBytes: 2 }, 'maxBytes must be more than the 2 bytes of the frame, not 2'],
    [{ maxDelay: 0 }, 'maxDelay must be a number of milliseconds above 0, or Infinity, not 0'],
  ])('throws for %j when the pipeline is put together', (options, message) =>
    expect(() => batch(options)).toThrow(message),
  )
})

describe('what batch hands back at unsubscribing', () => {
  const open = (options: BatchOptions): void =>
    concat(rail('1', '2'), NEVER)
      .pipe(batch({ clock: virtualClock({ start: 7 }), ...options }))
      .subscribe()
      .unsubscribe()

  const published = (name: string, act: () => void): ReadonlyArray<unknown> => {
    const seen: unknown[] = []
    const listener = (message: unknown): void => {
      seen.push(message)
    }
    subscribe(name, listener)
    act()
    unsubscribe(name, listener)
    return seen
  }

  it('goes to whom it may concern', () => {
    const back: unknown[] = []
    const abandoned = (payloads: ReadonlyArray<Payload<unknown>>): void => {
      back.push(payloads.map(({ text }) => text))
    }
    expect(published('headrace:refused', () => open({ abandoned }))).toEqual([])
    expect(back).toEqual([['1', '2']])
  })

  it('is published without a listener', () =>
    expect(published('headrace:refused', () => open({}))).toMatchObject([
      { _tag: 'Refused', at: 7, refusal: { _tag: 'Closed', input: { text: '1' } } },
      { _tag: 'Refused', at: 7, refusal: { _tag: 'Closed', input: { text: '2' } } },
    ]))

  it('goes on when the listener throws', () => {
    const abandoned = (): void => {
      throw new Error('not now')
    }
    const defects = published('headrace:defect', () => open({ abandoned }))
    expect(defects).toMatchObject([
      { _tag: 'Defect', at: 7, where: 'abandoned', error: new Error('not now') },
    ])
  })
})

describe('the types of batch', () => {
  it('keep the left side and the item', () => {
    const source: ObservableEither<'ended', Payload<{ readonly n: number }>> = NEVER
    expectTypeOf(source.pipe(batch())).toEqualTypeOf<
      ObservableEither<'ended' | TooLarge, BatchPayload<{ readonly n: number }, FixedFrame>>
    >()
    // @ts-expect-error what is batched has been encoded
    expectTypeOf(batch()).toBeCallableWith(of(right(5)))
  })
})

describe('batch of any items', () => {
  const frames = [Buffer.from([1]), Buffer.from([2, 3]), Buffer.from([4, 5, 6]), Buffer.from([7])]

  it('gathers them as they are, for a sink that takes such batches', () => {
    const taken: Array<ItemBatch<Buffer>> = []
    const bulk = sink('bulk', async (many: ItemBatch<Buffer>) => void taken.push(many))
    const options = { maxBytes: 4, newId: () => 'b' }
    from(frames)
      .pipe(lift(), batch({ ...options, sizeOf: (frame) => frame.length }), deliver(bulk))
      .subscribe()
    expect(taken).toEqual([
      { id: 'b', items: frames.slice(0, 2), byteLength: 3, closedBy: 'bytes' },
      { id: 'b', items: frames.slice(2), byteLength: 4, closedBy: 'bytes' },
    ])
    expect(taken[0]?.items[0]).toBe(frames[0])
  })

  it('hands back the items whose batch got no id', () => {
    const back: Array<ReadonlyArray<number>> = []
    const newId = (): never => {
      throw new Error('no id')
    }
    const options = {
      sizeOf: () => 0,
      maxCount: 2,
      newId,
      abandoned: (items: ReadonlyArray<number>) => back.push(items),
    }
    let failure: unknown
    of(1, 2, 3)
      .pipe(lift(), batch(options))
      .subscribe({ error: (error: unknown) => (failure = error) })
    expect(failure).toEqual(new Error('no id'))
    expect(back).toEqual([[1, 2]])
  })

  it('has types that say so', () => {
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
