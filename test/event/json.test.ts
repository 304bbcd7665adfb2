import { expect, it } from 'vitest'
import { Event } from '../../src/event/index.ts'
import { faultsIn } from '../support/decoded.ts'
import { throwing } from '../support/check.ts'

const only = (properties: unknown) => faultsIn(Event, { type: 'track', userId: 'u', event: 'e', properties })
const bomb = throwing('no')

it('names the reason for each thing that JSON would lose (EV9)', () => {
  const self: Record<string, unknown> = {}
  self['self'] = self
  const reasons: ReadonlyArray<readonly [reason: string, values: ReadonlyArray<unknown>]> = [
    ['is a BigInt', [1n, Object(1n)]],
    ['is NaN or infinite', [NaN, -Infinity, new Number(NaN)]],
    ['is a Map', [new Map()]],
    ['is a Set', [new Set()]],
    ['is binary data', [Buffer.from('x'), new Float64Array(1), new ArrayBuffer(1)]],
    ['is an invalid Date', [new Date(NaN)]],
    ['contains itself', [self]],
    ['could not be read', [{ toJSON: bomb }, new Proxy({}, { ownKeys: bomb })]],
    ['could not be read', [Object.defineProperty({}, 'secret', { enumerable: true, get: bomb })]],
    ['is a key that receivers refuse', [JSON.parse('{"__proto__":1}')]],
  ]
  for (const [reason, values] of reasons)
    for (const value of values) {
      const [found, ...more] = only({ at: value })
      expect([found?.message.slice(0, reason.length), more]).toEqual([reason, []])
      expect(found?.path).toMatch(/^properties\.at/)
    }
})

it('accepts 256 levels, the event being the first, and not more', () => {
  const nest = (levels: number): object => (levels === 0 ? {} : { a: nest(levels - 1) })
  expect(only(nest(254))).toEqual([])
  expect(only(nest(255))).toMatchObject([{ message: 'is nested deeper than 256 levels: flatten it' }])
  expect(only(nest(5_000))).toMatchObject([{ path: 'properties.a.a.a.a.a.….a.a.a.a.a.a' }])
})

it('refuses more than 250,000 values', () => {
  let twice: unknown = {}
  for (let level = 0; level < 60; level++) twice = { left: twice, right: twice }
  const reason = [{ path: '', message: 'holds too many values: send less with the event' }]
  expect([only(twice), only({ sparse: new Array(4_000_000_000) })]).toEqual([reason, reason])
  expect(Event.is({ type: 'track', userId: 'u', event: 'e', properties: twice })).toBe(false)
})

it('names at most 1,000 faults', () => {
  expect(only({ list: new Array(5_000).fill(Number.NaN) })).toHaveLength(1_000)
  // Only the part of a key that is shown is looked at.
  const key = 'k'.repeat(60)
  expect(only({ [`${key}"`]: Number.NaN })).toMatchObject([{ path: `properties.${key}…` }])
  const integrations = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`i${n}`, 1]))
  const read = Event.decode({ type: 'track', userId: 'u', event: 'e', integrations })
  expect(read._tag === 'Left' && read.left).toHaveLength(1_000)
})

it('takes an object that is there twice for no cycle', () => {
  const shared = { a: 1 }
  expect(only({ first: shared, second: [shared] })).toEqual([])
})
