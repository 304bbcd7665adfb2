import { isRight } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { Event } from '../../src/event/index.ts'
import type { Event as Model } from '../../src/event/event.ts'
import { allows, callOf, Integrations, type Call } from '../../src/event/model.ts'
import { pathsIn } from '../support/decoded.ts'

it('is a type and a codec of the same name', () => {
  expectTypeOf<Event>().toEqualTypeOf<Model>()
  expectTypeOf<t.TypeOf<typeof Event>>().toEqualTypeOf<Event>()
  expectTypeOf<t.OutputOf<typeof Event>>().toEqualTypeOf<Call>()
  expectTypeOf<Event['messageId']>().toEqualTypeOf<string>()
  expectTypeOf<Extract<Event, { type: 'alias' }>['previousId']>().toEqualTypeOf<string>()
  const calls: ReadonlyArray<Call> = [
    // @ts-expect-error a track has an event
    { type: 'track', userId: 'u' },
    // @ts-expect-error an id is no number
    { type: 'identify', userId: 5 },
    { type: 'page', userId: 'u', timestamp: new Date(0), properties: { any: new Date(0) } },
  ]
  expect(calls.map((call) => isRight(Event.decode(call)))).toEqual([false, false, true])
})

it('an event as a call has no empty data that a call may leave out', () => {
  const common = { userId: 'u', messageId: 'm', timestamp: '2024-02-29T00:00:00.000Z', context: {} }
  const track = { ...common, type: 'track', event: 'E', properties: {} } as const
  const { context: _, ...call } = { ...common, type: 'track', event: 'E' }
  expect(callOf(track)).toEqual(call)
  expect(callOf({ ...common, type: 'screen', properties: {} })).toHaveProperty('properties', {})
  expect(callOf({ ...track, context: { ip: '::1' } })).toHaveProperty('context', { ip: '::1' })
  expect(Event.encode).toBe(callOf)
})

describe('integrations', () => {
  it('lets an event through as CO1 says', () => {
    const yes = [undefined, {}, { All: {} }, { All: false, X: true }, { All: false, X: { some: 'option' } }]
    const no = [{ X: false }, { All: false }, { All: false, x: true }, { All: true, X: false }]
    expect([...yes, ...no].filter((each) => allows(each, 'X'))).toEqual(yes)
    // Names that every object has are names like others.
    expect(allows({ All: false }, 'constructor')).toBe(false)
  })

  it('refuses everything else, each by its name (EV10)', () => {
    const paths = (value: unknown) => pathsIn(Integrations, value)
    const wrong = { A: 1, B: 'x', C: null, D: [], 'E.F': 0, G: true, H: {} }
    expect([paths(wrong), paths({ A: { deep: 1n } })]).toEqual([['A', 'B', 'C', 'D', '["E.F"]'], ['A.deep']])
    for (const value of [null, undefined, [], 'All', true, new Map()]) expect(paths(value)).toEqual([''])
    expect(Integrations.is(wrong)).toBe(false)
  })
})
