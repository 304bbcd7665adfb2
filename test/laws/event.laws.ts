/**
 * The laws of events on their way in and out: EV1 to EV10 and the fixed point of BY1. They are laws over a whole road (take a
 * call in, write a body, read it again), so that a mutant may be wrong at any point of it.
 */
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import { describe, expect, it } from 'vitest'
import { callOf, kinds } from '../../src/event/model.ts'
import { faultsOf } from '../../src/event/codecFaults.ts'
import { Event as EventCodec, eventCodec } from '../../src/event/event.ts'
import { isRecord } from '../../src/core/json.ts'
import { isJson } from '../../src/event/json.ts'
import { WebhookBody, WireBody, toWebhookBody } from '../../src/event/webhookBody.ts'
import type { Fault } from '../../src/core/refusal.ts'
import type { Event, Forwarded } from '../../src/event/model.ts'
import { anyEvent, trackingCallOf } from '../../src/testing/laws/events.ts'
import { forwardedOf } from '../arbitraries/forwarded.ts'
import { key } from '../../src/testing/laws/jsonValues.ts'
import { invalidCallOf } from '../../src/testing/laws/invalidInput.ts'
import { SECRET, anyInput } from '../arbitraries/unreadable.ts'
import { instant } from '../../src/testing/laws/moments.ts'
import { holds, law, type PlainLaw, same } from '../support/check.ts'

/** What taking something in gives: the event, or what is wrong. */
export type Taken<E> = { readonly event: E } | { readonly faults: ReadonlyArray<Fault> }

/** A road from calls to bodies and back. */
export interface Road {
  /** A call becomes an event. The clock stands still at `NOW`, a new id is `NEW_ID`. */
  readonly take: (call: unknown) => Taken<Event>
  /** The event as a call again. */
  readonly callOf: (event: Event) => unknown
  readonly toBody: (event: Forwarded) => unknown
  readonly fromBody: (body: unknown) => Taken<Forwarded>
  /** What the codecs of the kinds, made of combinators, make of a call. */
  readonly decode: (call: unknown) => Taken<Event>
  /** The text that is sent. */
  readonly write: (body: unknown) => string
}

export const NOW = Date.UTC(2024, 1, 29, 12)
export const NEW_ID = 'new-id'

const taken = <E>(result: Taken<E>): E => {
  if ('event' in result) return result.event
  throw new Error(`refused: ${result.faults.map(({ path, message }) => `${path} ${message}`).join('; ')}`)
}

const refused = (result: Taken<unknown>): ReadonlyArray<Fault> => {
  if ('faults' in result) return result.faults
  throw new Error('taken in, though it is wrong')
}

const clone = (value: unknown): unknown => structuredClone(value)

/** Calls that the codec refuses in one place or, for most of them, in three: the values of the other two are secret. */
const faulty = invalidCallOf()
  .filter(({ reason }) => reason !== 'too large')
  .map(({ input, path }) =>
    isRecord(input) && path !== 'type'
      ? {
          call: { ...input, userId: { SECRET }, timestamp: SECRET },
          paths: [...new Set([path, 'userId', 'timestamp'])],
        }
      : { call: input, paths: [path] },
  )

const zones = { Z: 0, z: 0, '+05:30': 330, '-0530': -330, '+14': 840, '-23:59': -1_439, '+2359': 1_439 }

/** A moment in some form of ISO 8601, and its instant, cut to milliseconds. */
const momentText = fc
  .tuple(
    instant,
    fc.boolean(),
    fc.stringMatching(/^([.,]\d{1,9})?$/),
    fc.constantFrom(...Object.entries(zones)),
  )
  .map(([at, hasSeconds, fraction, [name, minutes]]) => {
    const [unit, length] = hasSeconds ? [1_000, 19] : [60_000, 16]
    const local = Math.floor(at / unit) * unit
    const text = new Date(local).toISOString().slice(0, length) + (hasSeconds ? fraction : '') + name
    const millis = hasSeconds ? Number(fraction.slice(1, 4).padEnd(3, '0')) : 0
    return { text, millis: local + millis - minutes * 60_000 }
  })

export const eventLaws = (road: Road): ReadonlyArray<PlainLaw> => [
  law(
    'EV2 a body has these members and no others',
    fc.property(anyEvent, (event) => holds(WireBody.is(road.toBody(event)), 'it is no body')),
  ),
  law(
    'a canonical event is a call, and loses nothing on its way in',
    fc.property(anyEvent, (event) => {
      same(taken(road.take(clone(event))), event)
      same(taken(road.take(road.callOf(event))), event)
    }),
  ),
  law(
    'BY1 the text is a fixed point',
    fc.property(anyEvent, (event) => {
      const text = road.write(road.toBody(event))
      same(JSON.stringify(JSON.parse(text)), text)
      same(taken(road.fromBody(JSON.parse(text))), forwardedOf(event))
    }),
  ),
  law(
    'a call becomes the canonical event that the rules say',
    fc.property(trackingCallOf(), ({ call, event }) =>
      same(taken(road.take(call)), {
        timestamp: new Date(NOW).toISOString(),
        messageId: NEW_ID,
        ...event,
      }),
    ),
  ),
  law(
    'EV5 a moment keeps its instant, cut to milliseconds',
    fc.property(momentText, ({ text, millis }) => {
      const call = { type: 'track', userId: 'u', event: 'e', timestamp: text }
      const expected = millis < -62_167_219_200_000 || millis > 253_402_300_799_999 ? undefined : millis
      if (expected === undefined)
        same(
          refused(road.take(call)).map(({ path }) => path),
          ['timestamp'],
        )
      else same(taken(road.take(call)).timestamp, new Date(expected).toISOString())
    }),
  ),
  law(
    'EV7 every fault is named at once, with its path and without its value',
    fc.property(faulty, ({ call, paths }) => {
      const faults = refused(road.take(call))
      same(faults.map(({ path }) => path).sort(byText), [...paths].sort(byText))
      const said = faults.map(({ message }) => message).join('\n')
      holds(!said.includes(SECRET), `says the value: ${said}`)
      holds(
        faults.every(({ message }) => /^(must|is|has|holds|contains|could)\b/.test(message)),
        said,
      )
    }),
  ),
  law(
    'the reader and the codecs of the kinds answer alike',
    fc.property(
      fc.oneof(
        trackingCallOf().map(({ call }) => call),
        faulty.map(({ call }) => call),
        careless,
      ),
      (call) => {
        const [read, decoded] = [road.take(call), road.decode(call)]
        if ('event' in read && 'event' in decoded)
          same(filledIn(decoded.event, call), filledIn(read.event, call))
        else same(pathsIn(decoded), pathsIn(read))
      },
    ),
  ),
  law(
    'EV8 what the caller changes afterwards changes nothing',
    fc.property(anyEvent, fc.nat(), (event, seed) => {
      const call = clone(event)
      const got = taken(road.take(call))
      const body = road.toBody(got)
      const text = road.write(body)
      mutated(call, seed)
      same(got, event)
      same(road.write(body), text)
    }),
  ),
  law(
    'EV9 what is taken in is what JSON would have made of it',
    fc.property(
      fc.object({
        key,
        withBoxedValues: true,
        withDate: true,
        withNullPrototype: true,
        maxDepth: 4,
      }),
      (properties) => {
        const result = road.take({ type: 'track', userId: 'u', event: 'e', properties })
        if (!('event' in result)) {
          holds(!isLossless(properties), 'refused, though JSON keeps it')
          return
        }
        const event = result.event
        same(event.type === 'track' ? event.properties : undefined, JSON.parse(JSON.stringify(properties)))
      },
    ),
  ),
]

const pathsIn = (result: Taken<Event>): ReadonlyArray<string> | undefined =>
  'event' in result ? undefined : [...new Set(result.faults.map(({ path }) => path))].sort(byText)

/** Without what was filled in, since the codecs of the kinds have the clock and the ids of the machine. */
const filledIn = (event: Event, call: unknown): object =>
  Object.fromEntries(
    Object.entries(event).filter(
      ([key]) =>
        !/^(messageId|timestamp)$/.test(key) ||
        Boolean(Object.entries(call ?? {}).find(([name]) => name === key)?.[1]),
    ),
  )

/** Calls of which each member is right, absent or of a wrong type. */
const careless = fc.record(
  {
    type: fc.constantFrom('page', 'screen', 'identify', 'track', 'alias', 'group', 'delete', 'sold', 5),
    ...Object.fromEntries(
      [
        'userId',
        'anonymousId',
        'previousId',
        'groupId',
        'event',
        'name',
        'category',
        'messageId',
        'timestamp',
      ].map((key) => [key, fc.constantFrom('x', '', undefined, null, 7, {})]),
    ),
    ...Object.fromEntries(
      ['properties', 'traits', 'context', 'integrations'].map((key) => [
        key,
        fc.oneof(
          fc.constantFrom(undefined, null, 'x', []),
          fc.record(
            Object.fromEntries(
              ['url', 'title', 'device', 'os', 'All', 'other'].map((name) => [
                name,
                fc.constantFrom('x', 7, true, { model: 'm' }, { model: 5, name: null }, Number.NaN),
              ]),
            ),
            { requiredKeys: [] },
          ),
        ),
      ]),
    ),
  },
  { requiredKeys: ['type'] },
)

/** Changes everything in a value that can be changed, in place. */
const mutated = (value: unknown, seed: number): void => {
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

const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b))

/** Whether JSON gives back the value itself. */
const isLossless = (value: unknown): boolean => {
  try {
    return isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value)
  } catch {
    return false
  }
}

const taking =
  <A>(codec: t.Type<A, unknown>) =>
  (input: unknown): Taken<A> => {
    const decoded = codec.decode(input)
    return decoded._tag === 'Right' ? { event: decoded.right } : { faults: faultsOf(decoded.left) }
  }

const options = { clock: { now: () => NOW }, newId: () => NEW_ID }

export const road: Road = {
  take: taking(eventCodec(options)),
  callOf,
  toBody: toWebhookBody,
  fromBody: taking(WebhookBody),
  decode: taking(kinds),
  write: (body) => JSON.stringify(body),
}

describe('the laws of events', () => {
  it.each(eventLaws(road).map((law) => [law.id, law] as const))('%s', (_, law) => law.check())

  // Owned input is not copied, so what the caller changes afterwards is the caller's affair.
  const owned = { ...road, take: taking(eventCodec({ ...options, owned: true })) }
  it.each(
    eventLaws(owned)
      .filter(({ id }) => !id.startsWith('EV8'))
      .map((law) => [law.id, law] as const),
  )('for owned input: %s', (_, law) => law.check())
})

it('the codec of events never throws, gives faults or plain data, and says nothing of what was thrown', () =>
  fc.assert(
    fc.property(anyInput, (make) => {
      EventCodec.is(make())
      const decoded = EventCodec.decode(make())
      if (isLeft(decoded)) {
        const faults = faultsOf(decoded.left)
        expect(faults.length).toBeGreaterThan(0)
        expect(JSON.stringify(faults)).not.toContain(SECRET)
      } else expect(Object.values(decoded.right).every(isJson)).toBe(true)
    }),
  ))

it('what is says yes to is taken in as it is, with members that are undefined too', () =>
  fc.assert(
    fc.property(anyEvent, (event) => {
      const each = { ...event, userId: undefined }
      if (!EventCodec.is(each)) return
      const decoded = EventCodec.decode(each)
      expect(isLeft(decoded) ? undefined : decoded.right).toEqual(each)
    }),
  ))
