/** Calls as people write them: with what may be absent absent. */
import * as fc from 'fast-check'
import type { Event } from '../../src/event/model.ts'
import type { JsonObject } from '../../src/event/json.ts'
import * as arbitrary from './event.ts'

/** A call, and the event that the rules make of it. */
export interface KnownCall {
  readonly call: Readonly<Record<string, unknown>>
  readonly event: (now: number, newId: string) => object
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

const LOOSENINGS = [
  'noTimestamp',
  'dateTimestamp',
  'noMessageId',
  'emptyMessageId',
  'emptyIds',
  'noEmptyData',
  'unknownKeys',
  'undefinedKeys',
] as const

type Loosen = (typeof LOOSENINGS)[number]

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
