import { describe, expect, it } from 'vitest'
import { Event, eventCodec } from '../../src/event/event.ts'
import type { Fault } from '../../src/core/refusal.ts'
import { faultsIn } from './faultsIn.ts'

const only = (properties: unknown): ReadonlyArray<Fault> =>
  faultsIn({ type: 'track', userId: 'u', event: 'e', properties })

describe('a call that is wrong', () => {
  it('is told everything at once, in plain words and without values', () => {
    expect(
      faultsIn({
        type: 'track',
        userId: 4711,
        timestamp: 'yesterday, hunter2',
        properties: { total: Number.NaN, items: [{ sku: 1n }], tags: new Set(['hunter2']) },
        integrations: { Warehouse: 'hunter2' },
      }),
    ).toEqual([
      {
        path: 'timestamp',
        message:
          'must be a Date or an ISO 8601 date and time with a zone, such as 2024-02-29T12:00:00.000Z, on a day that exists, in the years 0000 to 9999',
      },
      { path: 'event', message: 'is missing: it must be a string that is not empty' },
      { path: 'properties.total', message: 'is NaN or infinite: JSON has no such number' },
      { path: 'properties.items[0].sku', message: 'is a BigInt: write it as a string' },
      { path: 'properties.tags', message: 'is a Set, which JSON cannot hold: use an array' },
      { path: 'userId', message: 'must be a string, not a number' },
      { path: 'integrations.Warehouse', message: 'must be true, false or an object, not a string' },
    ])
  })

  it('may be no event at all', () => {
    const example = 'must be an object, such as {"type":"track","userId":"u1","event":"Signed Up"}'
    expect(faultsIn(undefined)).toEqual([{ path: '', message: `${example}, not undefined` }])
    expect(faultsIn([])).toEqual([{ path: '', message: `${example}, not an array` }])
    expect(faultsIn('track')).toEqual([{ path: '', message: `${example}, not a string` }])
    expect(faultsIn(new Date(0))).toEqual([{ path: '', message: `${example}, not a Date` }])
    expect(faultsIn({ type: 'Track', userId: 'u' })).toEqual([
      { path: 'type', message: 'must be one of page, screen, identify, track, alias, group, delete' },
    ])
  })

  it('each thing that JSON would lose has its own reason (EV9)', () => {
    const self: Record<string, unknown> = {}
    self['self'] = self
    const reasons = [
      [1n, 'is a BigInt'],
      [Number.NaN, 'is NaN or infinite'],
      [-Infinity, 'is NaN or infinite'],
      [new Number(Number.NaN), 'is NaN or infinite'],
      [Object(1n), 'is a BigInt'],
      [new Map(), 'is a Map'],
      [new Set(), 'is a Set'],
      [Buffer.from('x'), 'is binary data'],
      [new Float64Array(1), 'is binary data'],
      [new ArrayBuffer(1), 'is binary data'],
      [new Date(Number.NaN), 'is an invalid Date'],
      [self, 'contains itself'],
      [
        {
          toJSON: () => {
            throw new Error('no')
          },
        },
        'has a toJSON that throws',
      ],
      [
        {
          get secret() {
            throw new Error('no')
          },
        },
        'could not be read',
      ],
      [
        new Proxy(
          {},
          {
            ownKeys: () => {
              throw new Error('no')
            },
          },
        ),
        'could not be read',
      ],
      [JSON.parse('{"__proto__":1}'), 'is a key that receivers refuse'],
    ] as const
    for (const [value, reason] of reasons) {
      const found = only({ at: value })
      expect(found.map(({ message }) => message.slice(0, reason.length))).toEqual([reason])
      expect(found[0]?.path).toMatch(/^properties\.at/)
    }
  })

  it('may nest 256 levels, itself the first, and not one more', () => {
    const nest = (levels: number): object => (levels === 0 ? {} : { a: nest(levels - 1) })
    expect(only(nest(254))).toEqual([])
    expect(only(nest(255))).toMatchObject([{ message: 'is nested deeper than 256 levels: flatten it' }])
    expect(only(nest(5_000))).toMatchObject([{ path: 'properties.a.a.a.a.a.….a.a.a.a.a.a' }])
  })

  it('cannot keep us busy for ever', () => {
    let twice: unknown = {}
    for (let level = 0; level < 60; level++) twice = { left: twice, right: twice }
    const reason = [{ path: '', message: 'holds more than 250000 values: send less with the event' }]
    expect(only(twice)).toEqual(reason)
    expect(only({ sparse: new Array(4_000_000_000) })).toEqual(reason)
    expect(Event.is({ type: 'track', userId: 'u', event: 'e', properties: twice })).toBe(false)
  })

  it('cannot flood us with faults', () => {
    const found = only({ list: new Array(5_000).fill(Number.NaN) })
    expect(found).toHaveLength(1_001)
    expect(found).toContainEqual({
      path: '',
      message: 'has more than 1000 faults: only the first ones are named',
    })
  })

  it('may have an object twice without being a cycle', () => {
    const shared = { a: 1 }
    expect(only({ first: shared, second: [shared] })).toEqual([])
  })

  it('has a page without userId, for a codec that wants one', () => {
    const codec = eventCodec({ pageNeedsUserId: true })
    expect(faultsIn({ type: 'page', anonymousId: 'a' }, codec)).toMatchObject([{ path: 'userId' }])
    expect(faultsIn({ type: 'page', anonymousId: 'a', userId: 'u' }, codec)).toEqual([])
    expect(faultsIn({ type: 'page', anonymousId: 'a' })).toEqual([])
  })

  it('meets a clock that tells no time', () => {
    for (const now of [Number.NaN, 8.64e15, -8.64e15]) {
      expect(
        faultsIn({ type: 'delete', userId: 'u' }, eventCodec({ clock: { now: () => now } })),
      ).toMatchObject([{ path: 'timestamp' }])
    }
  })
})
