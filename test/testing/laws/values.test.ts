import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Event } from '../../../src/event/event.ts'
import { isJson } from '../../../src/event/json.ts'
import type { Kind } from '../../../src/event/model.ts'
import * as events from '../../../src/testing/laws/events.ts'
import { hostileJson, policy } from '../../../src/testing/laws/index.ts'
import { isoTimestamp, jsonObject } from '../../../src/testing/laws/jsonValues.ts'
import * as texts from '../../../src/testing/laws/texts.ts'

const samplesOf = <A>(values: fc.Arbitrary<A>): ReadonlyArray<A> =>
  fc.sample(values, { numRuns: 1_000, seed: 11 })

/** How many of 1,000 samples reach each limit; none may be 0. */
const reaches = <A>(
  values: fc.Arbitrary<A>,
  limits: Readonly<Record<string, (value: A) => boolean>>,
): void => {
  const samples = samplesOf(values)
  for (const [limit, isReached] of Object.entries(limits))
    expect([limit, samples.some(isReached)]).toEqual([limit, true])
}

const written = (value: unknown): string => JSON.stringify(value)
const depthOf = (value: unknown): number => {
  let depth = 0
  for (let each = value; typeof each === 'object' && each !== null; depth++) each = Object.values(each)[0]
  return depth
}

describe('texts', () => {
  it.each(Object.keys(texts.alphabets) as ReadonlyArray<texts.Alphabet>)(
    'sizes in %s are exact to the byte',
    (alphabet) => {
      reaches(
        texts.sizedAround(32_000, { alphabet }),
        Object.fromEntries([-1, 0, 1].map((over) => [over, ({ bytes }) => bytes === 32_000 + over])),
      )
      for (const size of samplesOf(texts.sizedAround(500, { alphabet }))) {
        expect(Buffer.byteLength(written(texts.textOfSize(size)))).toBe(size.bytes + 2)
        expect(Buffer.byteLength(written(texts.paddedTo(size, { a: 1 })))).toBe(size.bytes)
      }
    },
  )

  it('a failure at a size shrinks to the simplest alphabet at once', () => {
    const fails = fc.property(texts.sizedAround(500_000), (size) => texts.textOfSize(size).length < 100)
    const { counterexample, numShrinks } = fc.check(fails, { seed: 3 })
    expect([counterexample?.[0].alphabet, numShrinks < 30]).toEqual(['ascii', true])
    expect(() => texts.paddedTo({ bytes: 5, alphabet: 'ascii' }, { a: 1 })).toThrow('more than 5 bytes')
  })

  it('any text has lone surrogates, controls, wide characters and nothing at all', () =>
    reaches(texts.utf16Text, {
      lone: (text) => /\p{Surrogate}/u.test(text),
      control: (text) => /[\u0000-\u001f]/.test(text),
      wide: (text) => /\p{Extended_Pictographic}/u.test(text),
      empty: (text) => text === '',
    }))

  it('counts are around n', () => {
    const counts = new Set(samplesOf(texts.countsAround(20)))
    expect([0, 5, 19, 20, 21, 39, 40, 41].filter((n) => !counts.has(n))).toEqual([])
    expect(Math.min(...samplesOf(texts.countsAround(0)))).toBe(0)
  })

  it('lists of commands get long, and are data', () => {
    const steps = texts.commands(
      { put: fc.record({ n: fc.nat() }, { noNullPrototype: true }), close: fc.constant({}) },
      { max: 40 },
    )
    reaches(steps, {
      none: ({ length }) => length === 0,
      long: ({ length }) => length > 30,
      both: (list) =>
        list.some((each) => each.do === 'close') && list.some((each) => each.do === 'put' && each.n > 9),
    })
    for (const list of samplesOf(steps)) expect(JSON.parse(written(list))).toEqual(list)
  })
})

it('timestamps have the years 0000 and 9999, leap days, and the ends of a second', () => {
  const isRecent = (text: string): boolean => text > '2000-03' && text < '2024'
  reaches(isoTimestamp, {
    first: (text) => text === '0000-01-01T00:00:00.000Z',
    last: (text) => text === '9999-12-31T23:59:59.999Z',
    'leap day': (text) => text.slice(5, 10) === '02-29',
    'before 1970': (text) => text < '1970',
    'whole second': (text) => text.endsWith('.000Z') && isRecent(text),
    'last of a second': (text) => text.endsWith('.999Z') && isRecent(text),
  })
})

describe('JSON', () => {
  it('hostile values reach what trips careless code', () => {
    const texts = ['1e+21', '1e-7', '9007199254740994', '"__proto__":', '"0":', '"4294967294":']
    const isMinusZero = (value: unknown): boolean => Object.is(value, -0)
    reaches(hostileJson, {
      ...Object.fromEntries(texts.map((text) => [text, (value) => written(value).includes(text)])),
      '-0': (value) => isMinusZero(value) || (Array.isArray(value) && value.some(isMinusZero)),
      case: (value) => {
        const keys = Object.keys(value ?? {})
        return new Set(keys.map((each) => each.toLowerCase())).size < keys.length
      },
      deep: (value) => depthOf(value) === 1_000,
    })
    for (const value of samplesOf(hostileJson))
      expect(written(JSON.parse(written(value)))).toBe(written(value))
  })

  it('plain values stay as they are, and get as deep as a part of an event may be', () => {
    reaches(jsonObject, {
      empty: (value) => written(value) === '{}',
      deepest: (value) => depthOf(value) === 255,
    })
    expect(samplesOf(jsonObject).every(isJson)).toBe(true)
  })
})

describe('events', () => {
  it.each(Object.entries(events.eventOf))('%s is canonical, and reaches what is optional', (kind, values) => {
    expect(samplesOf<Event>(values).every((event) => event.type === kind && Event.is(event))).toBe(true)
    if (kind === 'delete') return
    reaches<Event>(values, {
      integrations: (event) => 'integrations' in event,
      none: (event) => !('integrations' in event),
      'longest id': ({ messageId }) => messageId.length === 256,
    })
  })

  it('calls leave out what may be absent', () =>
    reaches(events.trackingCallOf(), {
      ...Object.fromEntries(
        ['timestamp', 'messageId', 'context'].map((key) => [key, ({ call }) => !(key in call)]),
      ),
      date: ({ call }) => call['timestamp'] instanceof Date,
      'empty id': ({ call }) => call['messageId'] === '',
      unknown: ({ call }) => 'writeKey' in call,
      'traits of a page': ({ call }) => call['type'] === 'page' && 'traits' in call,
    }))

  it('calls are of the kinds that were asked for', () => {
    const typesOf = (...kinds: ReadonlyArray<Kind>) =>
      [...new Set(samplesOf(events.trackingCallOf(...kinds)).map(({ call }) => String(call['type'])))].sort()
    expect([typesOf('alias', 'delete'), typesOf('page')]).toEqual([['alias', 'delete'], ['page']])
    expect(typesOf()).toHaveLength(7)
  })
})

it('policies print and replay, and have all parts', () => {
  for (const each of samplesOf(policy)) expect(JSON.parse(written(each))).toEqual(each)
  expect(new Set(samplesOf(policy).map(written)).size).toBeGreaterThan(300)
})
