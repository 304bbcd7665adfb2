import * as fc from 'fast-check'
import { isRight, right } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { of } from 'rxjs'
import { describe, expect, it, test } from 'vitest'
import { bodyOf, type BatchPayload, type EventPayload, type ItemBatch } from '../../src/event/payload.ts'
import { batch, encode, sign } from '../../src/index.ts'
import { jsonCodec } from '../../src/outbox/lmdb/jsonCodec.ts'
import { lmdbOutbox } from '../../src/outbox/lmdb/lmdbOutbox.ts'
import { newFolder } from '../support/folder.ts'
import { forAll } from '../support/check.ts'

const through = <A>(codec: ReturnType<typeof jsonCodec<A>>, item: A): A => codec.fromText(codec.toText(item))

describe('without a codec of the item', () => {
  it('JSON comes back as it was, and counts its bytes', () =>
    forAll(fc.jsonValue(), (value) => {
      const codec = jsonCodec<unknown>(undefined)
      expect(codec.sizeOf(value)).toBe(Buffer.byteLength(JSON.stringify(value)))
      // JSON writes -0, which reads the same.
      expect(JSON.stringify(through(codec, value))).toBe(JSON.stringify(value))
    }))

  test('an object that is changed and given again is written again', () => {
    const [codec, item] = [jsonCodec<{ n: number }>(undefined), { n: 1 }]
    codec.sizeOf(item)
    item.n = 2
    expect([codec.sizeOf(item), codec.toText(item)]).toEqual([7, '{"n":2}'])
    item.n = 3
    expect(codec.toText(item)).toBe('{"n":3}')
    // A member that is undefined is left out.
    expect(through(jsonCodec<unknown>(undefined), { a: undefined, b: 1 })).toEqual({ b: 1 })
  })

  test.each<[string, unknown, string]>([
    ['a Date', { at: new Date(0) }, 'at is a Date'],
    ['a Map', { deep: [{ m: new Map() }] }, 'deep[0].m is a Map'],
    ['a function', { frame: { before: () => '' } }, 'frame.before is a function'],
    ['bytes', { items: [new Uint8Array(2)] }, 'items[0] is binary data'],
    ['NaN', [1, NaN], '[1] is NaN or infinity'],
    ['undefined in an array', [undefined], '[0] is undefined'],
    ['an object with toJSON', { x: { toJSON: () => 1 } }, 'x is an object'],
    ['nothing', undefined, 'it is undefined'],
  ])('%s is refused with its path', (_, item, change) =>
    expect(() => jsonCodec<unknown>(undefined).toText(item)).toThrow(
      `the item would not survive JSON: ${change}; give the outbox an io-ts codec of it`,
    ),
  )
})

const DateFromText = new t.Type<Date, string>(
  'DateFromText',
  (value): value is Date => value instanceof Date,
  (value, context) => {
    const date = new Date(String(value))
    return Number.isNaN(date.getTime()) ? t.failure(value, context, 'must be a date') : t.success(date)
  },
  (date) => date.toISOString(),
)

test('an item that is no value of its codec is refused: it would not be read back', () =>
  expect(() => jsonCodec<Date>(DateFromText).toText('today' as never)).toThrow(/by is\(\) of its codec/))
const Order = t.strict({ id: t.string, at: DateFromText })
type Order = t.TypeOf<typeof Order>
const order: Order = { id: 'o1', at: new Date(1_700_000_000_000) }

test('with an io-ts codec a Date comes back as a Date: of the item itself, of a payload, of a batch of each', () => {
  expect(through(jsonCodec<Order>(Order), order)).toEqual(order)
  const single: EventPayload<Order> = { id: 'm', items: [order], text: '{}', byteLength: 2 }
  expect(through(jsonCodec<EventPayload<Order>>(Order), single)).toEqual(single)
  const many: BatchPayload<Order> = {
    ...{ id: 'b', items: [order], members: [single], byteLength: 4, closedBy: 'count' },
    frame: { prefix: '[', suffix: ']' },
  }
  expect(through(jsonCodec<BatchPayload<Order>>(Order), many)).toEqual(many)
  const any: ItemBatch<Order> = { id: 'b', items: [order], byteLength: 1, closedBy: 'end' }
  expect(through(jsonCodec<ItemBatch<Order>>(Order), any)).toEqual(any)
  const ofPayloads: ItemBatch<EventPayload<Order>> = { ...any, items: [single] }
  expect(through(jsonCodec<ItemBatch<EventPayload<Order>>>(Order), ofPayloads)).toEqual(ofPayloads)
  // A text that is no such item is refused with its path.
  expect(() => jsonCodec<Order>(Order).fromText('{"id":"o1","at":"soon"}')).toThrow(/at must be a date/)
})

test('a signed batch of own items survives a folder: the same body and signature, and dates', async () => {
  const path = newFolder()
  const made: Array<BatchPayload<Order>> = []
  of(right(order), right({ ...order, id: 'o2' }))
    .pipe(
      encode(({ id, at }: Order) => ({ id, at: at.toISOString() })),
      batch(),
      sign('a secret'),
    )
    .subscribe((each) => {
      if (isRight(each)) made.push(each.right)
    })
  const before = lmdbOutbox<BatchPayload<Order>>({ path, item: Order })
  await before.enqueue(made)
  await before.close()
  const after = lmdbOutbox<BatchPayload<Order>>({ path, item: Order })
  const [entry] = await after.lease(0, { count: 1, retries: 0 })
  expect(made[0]).toMatchObject(entry?.item ?? {})
  expect(entry && bodyOf(entry.item, 5)).toBe(made[0] && bodyOf(made[0], 0))
  await after.close()
})
