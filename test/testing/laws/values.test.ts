import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import * as events from '../../../src/testing/laws/events.ts'
import { hostileJson, policy } from '../../../src/testing/laws/index.ts'
import { isoTimestamp, jsonObject } from '../../../src/testing/laws/jsonValues.ts'
import * as texts from '../../../src/testing/laws/texts.ts'

const written = (value: unknown): string => JSON.stringify(value)
const depthOf = (value: unknown): number => {
  let depth = 0
  for (let each = value; typeof each === 'object' && each !== null; depth++) each = Object.values(each)[0]
  return depth
}

const reaching =
  <A>(values: fc.Arbitrary<A>, limits: Readonly<Record<string, (value: A) => boolean>>) =>
  (): void => {
    const samples = fc.sample(values, { numRuns: 1_000, seed: 11 })
    const missed = Object.entries(limits).filter(([, isReached]) => !samples.some(isReached))
    expect(missed.map(([limit]) => limit)).toEqual([])
  }

const steps = texts.commands({ put: fc.record({ n: fc.nat() }), close: fc.constant({}) })
const isRecent = (text: string): boolean => text > '2000-03' && text < '2024'
const parts = ['1e+21', '1e-7', '9007199254740994', '"__proto__":', '"0":', '"4294967294":']

it.each(
  Object.entries({
    'sizes around a limit, to the byte': reaching(
      texts.sizedAround(32_000),
      Object.fromEntries([-1, 0, 1].map((over) => [over, ({ bytes }) => bytes === 32_000 + over])),
    ),
    'any text': reaching(texts.utf16Text, {
      'a lone surrogate': (text) => /\p{Surrogate}/u.test(text),
      'a control': (text) => /[\u0000-\u001f]/.test(text),
      'a wide character': (text) => /\p{Extended_Pictographic}/u.test(text),
      nothing: (text) => text === '',
    }),
    'lists of commands': reaching(steps, {
      none: ({ length }) => length === 0,
      long: ({ length }) => length > 30,
      both: (list) => new Set(list.map((each) => each.do)).size === 2,
    }),
    timestamps: reaching(isoTimestamp, {
      first: (text) => text === '0000-01-01T00:00:00.000Z',
      last: (text) => text === '9999-12-31T23:59:59.999Z',
      'leap day': (text) => text.slice(5, 10) === '02-29',
      'before 1970': (text) => text < '1970',
      'whole second': (text) => text.endsWith('.000Z') && isRecent(text),
      'last of a second': (text) => text.endsWith('.999Z') && isRecent(text),
    }),
    'hostile JSON': reaching<unknown>(hostileJson, {
      ...Object.fromEntries(parts.map((part) => [part, (value) => written(value).includes(part)])),
      '-0': (value) => [value].flat().some((each) => Object.is(each, -0)),
      case: (value) => {
        const keys = Object.keys(value ?? {})
        return new Set(keys.map((each) => each.toLowerCase())).size < keys.length
      },
      deep: (value) => depthOf(value) === 1_000,
    }),
    'plain JSON': reaching(jsonObject, {
      empty: (value) => written(value) === '{}',
      'as deep as a part of an event': (value) => depthOf(value) === 255,
    }),
    events: reaching(events.anyEvent, {
      'longest id': ({ messageId }) => messageId.length === 256,
      'no integrations': (event) => !('integrations' in event),
    }),
    calls: reaching(events.trackingCallOf(), {
      'no timestamp': ({ call }) => !('timestamp' in call),
      'no context': ({ call }) => !('context' in call),
      date: ({ call }) => call['timestamp'] instanceof Date,
      'empty id': ({ call }) => call['messageId'] === '',
      unknown: ({ call }) => 'writeKey' in call,
      'traits of a page': ({ call }) => call['type'] === 'page' && 'traits' in call,
      deletion: ({ call }) => call['type'] === 'delete',
    }),
    policies: reaching(policy, {
      jitter: (each) => written(each).includes('FullJitter'),
      'a part in a part': (each) => each._tag === 'Both' && each.left._tag === 'Both',
    }),
  }),
)('%s reach their limits', (_, check) => check())
