/** Calls as people write them: with what may be absent absent, with moments in every form, and with things wrong on purpose. */
import * as fc from 'fast-check'
import type { Event } from '../../src/event/Kinds.ts'
import type { JsonObject } from '../../src/event/json/Json.ts'
import * as arbitrary from './event.ts'

/** A call, and the event that the rules make of it. */
export interface KnownCall {
  readonly call: Readonly<Record<string, unknown>>
  readonly event: (now: number, newId: string) => object
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

type Loosen =
  | 'noTimestamp'
  | 'dateTimestamp'
  | 'noMessageId'
  | 'emptyMessageId'
  | 'emptyIds'
  | 'noEmptyData'
  | 'unknownKeys'
  | 'undefinedKeys'

const LOOSENINGS: ReadonlyArray<Loosen> = [
  'noTimestamp',
  'dateTimestamp',
  'noMessageId',
  'emptyMessageId',
  'emptyIds',
  'noEmptyData',
  'unknownKeys',
  'undefinedKeys',
]

const without = (object: object, ...keys: ReadonlyArray<string>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !keys.includes(name)))

const loosened = (event: Event, how: ReadonlySet<Loosen>): KnownCall => {
  const is = (each: Loosen): boolean => how.has(each)
  let call: Record<string, unknown> = { ...structuredClone(event) }
  if (is('noTimestamp')) call = without(call, 'timestamp')
  else if (is('dateTimestamp')) call['timestamp'] = new Date(event.timestamp)
  if (is('noMessageId')) call = without(call, 'messageId')
  else if (is('emptyMessageId')) call['messageId'] = ''
  if (is('emptyIds') && event.type !== 'delete') call = { userId: '', anonymousId: '', ...call }
  if (is('noEmptyData')) {
    for (const name of ['properties', 'traits', 'context']) {
      if (isEmpty(call[name]) && event.type !== 'screen') call = without(call, name)
    }
  }
  if (is('unknownKeys')) call = { ...call, sentAt: 1, version: 1, 'Previous ID': 'x', writeKey: 'k' }
  if (is('undefinedKeys')) call = { name: undefined, category: undefined, properties: undefined, ...call }
  return {
    call,
    event: (now, newId) => ({
      ...event,
      ...(is('noTimestamp') ? { timestamp: new Date(now).toISOString() } : {}),
      ...(is('noMessageId') || is('emptyMessageId') ? { messageId: newId } : {}),
    }),
  }
}

const looseCall: fc.Arbitrary<KnownCall> = fc
  .tuple(arbitrary.event, fc.subarray([...LOOSENINGS]))
  .map(([event, how]) => loosened(event, new Set(how)))

/** A page with traits, which fill only those keys that its properties do not have (EV4). */
const pageWithTraits: fc.Arbitrary<KnownCall> = fc
  .tuple(arbitrary.events.page, arbitrary.pageProperties, fc.boolean())
  .map(([page, traits, overlap]) => {
    const given: JsonObject = overlap ? { ...page.properties, ...traits, shared: 'from traits' } : traits
    const own = overlap ? { ...page.properties, shared: 'from properties' } : page.properties
    return {
      call: { ...page, properties: own, traits: given },
      event: () => ({ ...page, properties: { ...given, ...own } }),
    }
  })

/** A call that is right, and its event. */
export const anyCall: fc.Arbitrary<KnownCall> = fc.oneof(
  { weight: 4, arbitrary: looseCall },
  { weight: 1, arbitrary: pageWithTraits },
)

const pad = (value: number, width: number): string => String(value).padStart(width, '0')

/** A moment in some ISO 8601 form, and its instant, cut to milliseconds: worked out here from whole minutes. */
export const momentText: fc.Arbitrary<{ readonly text: string; readonly millis: number }> = fc
  .record({
    at: arbitrary.millis,
    digits: fc.integer({ min: 0, max: 9 }),
    more: fc.nat({ max: 999_999 }),
    sign: fc.constantFrom('+', '-'),
    minutes: fc.oneof(fc.constantFrom(0, 60, 330, 23 * 60 + 59), fc.nat({ max: 23 * 60 + 59 })),
    zone: fc.constantFrom('Z', 'z', 'colon', 'plain', 'hours'),
    comma: fc.boolean(),
    seconds: fc.boolean(),
  })
  .map(({ at, digits, more, sign, minutes, zone, comma, seconds }) => {
    const local = new Date(at).toISOString()
    const micros = local.slice(20, 23) + pad(more, 6)
    const fraction = digits === 0 ? '' : (comma ? ',' : '.') + micros.slice(0, digits)
    const kept = digits === 0 ? 0 : Number(micros.slice(0, Math.min(3, digits)).padEnd(3, '0'))
    const hasOffset = zone === 'colon' || zone === 'plain' || zone === 'hours'
    const offset = hasOffset ? (zone === 'hours' ? minutes - (minutes % 60) : minutes) : 0
    const [hh, mm] = [pad(Math.floor(offset / 60), 2), pad(offset % 60, 2)]
    const written = {
      Z: 'Z',
      z: 'z',
      colon: `${sign}${hh}:${mm}`,
      plain: `${sign}${hh}${mm}`,
      hours: `${sign}${hh}`,
    }[zone]
    const whole = Math.floor(at / 1_000) * 1_000
    const instant =
      (seconds ? whole + kept : Math.floor(at / 60_000) * 60_000) - offset * 60_000 * (sign === '-' ? -1 : 1)
    return {
      text: `${local.slice(0, seconds ? 19 : 16)}${seconds ? fraction : ''}${written}`,
      millis: instant,
    }
  })

/** A call with things wrong on purpose: where, and what must not be said. */
export interface FaultyCall {
  readonly call: unknown
  readonly paths: ReadonlyArray<string>
  readonly secrets: ReadonlyArray<string>
}

const SECRET = 's3cr3t-value'

interface Wrong {
  readonly path: string
  readonly put: (call: Record<string, unknown>) => void
}

const set = (name: string, value: unknown, path = name): Wrong => ({
  path,
  put: (call) => {
    call[name] = value
  },
})

const inData = (name: string, inside: string, value: () => unknown, path = `${name}.${inside}`): Wrong => ({
  path,
  put: (call) => {
    const found = call[name]
    call[name] = { ...(typeof found === 'object' ? found : {}), [inside]: value() }
  },
})

const cycle = (): unknown => {
  const self: Record<string, unknown> = { SECRET }
  self['again'] = self
  return self
}

const throwing = {
  toJSON: () => {
    throw new Error(SECRET)
  },
}

/** Groups of wrong things; of each group at most one is done, so that they do not hide each other. */
const WRONGS: ReadonlyArray<ReadonlyArray<Wrong>> = [
  [set('userId', 4_217_001), set('userId', { SECRET }), set('userId', [SECRET]), set('userId', null)],
  [set('anonymousId', 4_217_001), set('anonymousId', true)],
  [set('messageId', 4_217_001), set('messageId', SECRET.repeat(40))],
  [
    set('timestamp', 4_217_001),
    set('timestamp', SECRET),
    set('timestamp', new Date(Number.NaN)),
    set('timestamp', new Date(Date.UTC(12_345, 0))),
    set('timestamp', '2023-02-29T00:00:00Z'),
    set('timestamp', '2024-01-01T00:00:00'),
    set('timestamp', '2024-13-01T00:00:00Z'),
    set('timestamp', '2024-01-01T24:00:00Z'),
    set('timestamp', '2024-01-01T00:00:60Z'),
    set('timestamp', '2024-01-01'),
    set('timestamp', '12024-01-01T00:00:00Z'),
    set('timestamp', '0000-01-01T00:00:00+00:01'),
    set('timestamp', '9999-12-31T23:59:59-00:01'),
    set('timestamp', null),
  ],
  [set('event', 4_217_001), set('event', ''), set('event', undefined), set('event', [SECRET])],
  [
    set('properties', SECRET),
    set('properties', [SECRET]),
    set('properties', null),
    set('properties', new Map([[SECRET, SECRET]])),
  ],
  [
    inData('context', 'big', () => 4_217_001n),
    inData('context', 'list', () => [0, { at: Number.NaN }], 'context.list[1].at'),
    inData('context', 'set', () => new Set([SECRET])),
    inData('context', 'raw', () => Buffer.from(SECRET)),
    inData('context', 'when', () => new Date(Number.NaN)),
    inData('context', 'loop', cycle, 'context.loop.again'),
    inData('context', 'thrower', () => throwing),
    inData('context', 'half', () => JSON.parse(`{"__proto__":"${SECRET}"}`), 'context.half.__proto__'),
  ],
  [
    set('integrations', SECRET),
    inData('integrations', 'Some Place', () => SECRET),
    inData('integrations', 'X', () => null),
  ],
]

/** A track with some things wrong. */
const faultyTrack: fc.Arbitrary<FaultyCall> = fc
  .tuple(...WRONGS.map((group) => fc.option(fc.constantFrom(...group), { nil: undefined, freq: 2 })))
  .map((chosen) => {
    const wrongs = chosen.flatMap((each) => each ?? [])
    const call: Record<string, unknown> = { type: 'track', userId: 'u', event: 'e' }
    for (const { put } of wrongs) put(call)
    return { call, paths: wrongs.map(({ path }) => path), secrets: [SECRET, '4217001'] }
  })
  .filter(({ paths }) => paths.length > 0)

const fixed = (call: unknown, ...paths: ReadonlyArray<string>): FaultyCall => ({
  call,
  paths,
  secrets: [SECRET],
})

const faultyOthers: fc.Arbitrary<FaultyCall> = fc.constantFrom(
  fixed(undefined, ''),
  fixed(SECRET, ''),
  fixed([SECRET], ''),
  fixed(new Map([['type', SECRET]]), ''),
  fixed({ type: SECRET, userId: 1 }, 'type', 'userId'),
  fixed({ userId: 'u' }, 'type'),
  fixed({ type: 'identify' }, 'userId'),
  fixed({ type: 'identify', userId: '', anonymousId: '' }, 'userId'),
  fixed({ type: 'group', userId: 'u', traits: 1 }, 'groupId', 'traits'),
  fixed({ type: 'alias', previousId: '' }, 'previousId', 'userId'),
  fixed({ type: 'alias', previousId: 5, userId: 'u' }, 'previousId'),
  fixed({ type: 'delete', timestamp: 5 }, 'userId', 'timestamp'),
  fixed({ type: 'page', userId: 'u', name: 1, category: 2 }, 'name', 'category'),
  fixed(
    { type: 'page', userId: 'u', properties: { url: 1, title: null }, traits: { url: 2, path: [] } },
    'properties.url',
    'properties.title',
    'traits.path',
  ),
  fixed(
    {
      type: 'screen',
      userId: 'u',
      name: {},
      context: { device: { model: 1 }, os: 'ios', app: { build: 7 } },
    },
    'name',
    'context.device.model',
    'context.os',
    'context.app.build',
  ),
)

/** A call that is wrong. */
export const faulty: fc.Arbitrary<FaultyCall> = fc.oneof(
  { weight: 4, arbitrary: faultyTrack },
  { weight: 1, arbitrary: faultyOthers },
)

/** Changes everything in a value that can be changed, in place. */
export const mutated = (value: unknown, seed: number): void => {
  if (typeof value !== 'object' || value === null) return
  // Sound for every object: whatever stands there is replaced.
  const record = value as Record<string, unknown>
  for (const name of Object.keys(record)) {
    mutated(record[name], seed + 1)
    if (seed % 3 === 0) Reflect.deleteProperty(record, name)
    else if (!(Array.isArray(record) && name === 'length')) record[name] = { changed: seed }
  }
  if (Array.isArray(value)) value.push('changed')
  else record['added'] = seed
}
