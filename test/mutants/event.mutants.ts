/** Codecs that are wrong on purpose, each in one way, and the laws of events that fail for them. */
import { describe, expect, it } from 'vitest'
import type { Event, Forwarded } from '../../src/event/model.ts'
import { type Road, type Taken, eventLaws, road } from '../laws/event.laws.ts'

type Loose = Record<string, unknown>

/** Mutants take everything apart; nothing is known of the parts. */
const loose = (value: unknown): Loose => ({ ...(value as object) })

const bodies =
  (change: (body: Loose, event: Loose) => unknown) =>
  (road: Road): Road => ({ ...road, toBody: (event) => change(loose(road.toBody(event)), loose(event)) })

const takes =
  (change: (event: Loose, call: Loose) => unknown) =>
  (road: Road): Road => ({
    ...road,
    take: (call) => {
      const result = road.take(call)
      // The whole point: what comes out is not what the type says.
      return 'event' in result ? { event: change(loose(result.event), loose(call)) as Event } : result
    },
  })

const faults =
  (change: (result: Extract<Taken<Event>, { faults: unknown }>, call: unknown) => Taken<Event>) =>
  (road: Road): Road => ({
    ...road,
    take: (call) => {
      const result = road.take(call)
      return 'faults' in result ? change(result, call) : result
    },
  })

const reads =
  (change: (event: Loose) => unknown) =>
  (road: Road): Road => ({
    ...road,
    fromBody: (body) => {
      const result = road.fromBody(body)
      return 'event' in result ? { event: change(loose(result.event)) as Forwarded } : result
    },
  })

const without = (object: Loose, ...keys: ReadonlyArray<string>): Loose =>
  Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))

const isObject = (value: unknown): value is Loose =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const given = (call: Loose): Loose => (isObject(call['properties']) ? call['properties'] : {})

const eventMutants: Readonly<Record<string, (road: Road) => Road>> = {
  'no version': bodies((body) => without(body, 'version')),
  'alias in camel case': bodies((body, event) =>
    event['type'] === 'alias'
      ? {
          ...without(body, 'Previous ID', 'User ID'),
          previousId: event['previousId'],
          userId: event['userId'],
        }
      : body,
  ),
  'integrations on the wire': bodies((body, event) =>
    'integrations' in event ? { ...body, integrations: event['integrations'] } : body,
  ),
  'escaped text': (road) => ({
    ...road,
    write: (body) =>
      road
        .write(body)
        .replace(/[<\u0080-\uffff]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`),
  }),
  'reading forgets names': reads((event) => without(event, 'name')),
  'traits overwrite properties': takes((event, call) =>
    event['type'] === 'page' && isObject(call['traits'])
      ? { ...event, properties: { ...given(event), ...call['traits'] } }
      : event,
  ),
  'timestamp as it came': takes((event, call) =>
    typeof call['timestamp'] === 'string' ? { ...event, timestamp: call['timestamp'] } : event,
  ),
  'empty ids stay': takes((event, call) =>
    call['anonymousId'] === '' ? { ...event, anonymousId: '' } : event,
  ),
  'unknown keys stay': takes((event, call) => ({ ...call, ...event })),
  'integrations lost': takes((event) => without(event, 'integrations')),
  'copied one level deep': takes((event, call) => {
    const shared = Object.entries(event).map(([key, value]) => [
      key,
      isObject(value) && isObject(call[key]) ? { ...call[key] } : value,
    ])
    return Object.fromEntries(shared) as Loose
  }),
  'only the first fault': faults((result) => ({ faults: result.faults.slice(0, 1) })),
  'the value is said': faults((result, call) => ({
    faults: result.faults.map((each) => ({
      ...each,
      message: `${each.message}, not ${JSON.stringify(String(isObject(call) ? call[each.path] : call))}`,
    })),
  })),
  'a dead letter without its id': (road) => ({
    ...road,
    callOf: (event) => without(loose(road.callOf(event)), 'messageId'),
  }),
}

/** Only the law that holds the reader to the codecs sees these. */
const codecMutants: Readonly<Record<string, (road: Road) => Road>> = {
  'codecs that keep unknown keys': (road) => ({
    ...road,
    decode: (call) => {
      const result = road.decode(call)
      return 'event' in result ? { event: { ...loose(call), ...result.event } } : result
    },
  }),
  'codecs without a fault of the user': (road) => ({
    ...road,
    decode: (call) => {
      const result = road.decode(call)
      return 'event' in result ? result : { faults: result.faults.filter(({ path }) => path !== 'userId') }
    },
  }),
}

describe('the laws of events fail for', () =>
  it.each(Object.entries({ ...eventMutants, ...codecMutants }))('%s', (_, mutant) =>
    expect(eventLaws(mutant(road)).some((law) => law.fails())).toBe(true),
  ))
