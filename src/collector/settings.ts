/**
 * The settings of a collector (CO1): decoded from unknown input, every fault at once, before anything runs.
 *
 * @module
 */

import { left, right, isLeft } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { isRecord } from '../core/json.ts'
import type { Fields } from '../core/json.ts'
import type { Fault } from '../core/refusal.ts'
import { concealed, hidden, decodeSettings } from '../destination/settings.ts'
import type { Settings } from '../destination/settings.ts'
import type { Event } from '../event/event.ts'
import type { Payload } from '../event/payload.ts'
import type { Egress } from '../http/webhook.ts'
import type { StoredIn } from '../outbox/lmdb/contract.ts'
import { resolve } from 'node:path'
import { secretFrom } from '../signing/secret.ts'
import type { Secret } from '../signing/secret.ts'
import { signerOf } from '../signing/sign.ts'
import type { Sink } from '../sink/sink.ts'
import { outboxFaults } from './options.ts'

/** A fault. */
export const at = (path: string, message: string): Fault => ({ path, message })

/** A misspelt setting is a fault (HD14). */
export const unknownKeys = (
  value: object,
  known: ReadonlyArray<string>,
  path: string,
): ReadonlyArray<Fault> =>
  Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => at(path + key, `is no setting; there are ${known.join(', ')}`))

/** Whether a value is a string that is not empty. */
export const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** For what must be a string that is not empty. */
export const textFaults = (value: unknown, path: string): ReadonlyArray<Fault> =>
  isText(value) ? [] : [at(path, 'must be a string that is not empty')]

/** For what must be true or false, or absent. */
export const switchFaults = (value: unknown, path: string): ReadonlyArray<Fault> =>
  value === undefined || typeof value === 'boolean' ? [] : [at(path, 'must be true or false')]

/** Of entries that must differ, those that repeat an earlier one. */
export const repeated = (
  keys: ReadonlyArray<string | undefined>,
  pathOf: (index: number) => string,
): ReadonlyArray<Fault> => {
  const first = new Map<string, number>()
  return keys.flatMap((key, index) => {
    if (key === undefined) return []
    const before = first.get(key)
    if (before === undefined) first.set(key, index)
    return before === undefined ? [] : [at(pathOf(index), `is the same as ${pathOf(before)}`)]
  })
}

/** A member of each entry; undefined where the entry is no object. */
export const membersOf = (list: ReadonlyArray<unknown>, key: string): ReadonlyArray<unknown> =>
  list.map((each) => (isRecord(each) ? each[key] : undefined))

/** The strings among values, each in its place. */
export const textsOf = (values: ReadonlyArray<unknown>): ReadonlyArray<string | undefined> =>
  values.map((value) => (isText(value) ? value : undefined))

/** Where events come from: a web site, an app, a server (seed). */
export interface SourceSettings {
  /** Its name, by which destinations are connected to it. */
  readonly id: string
  /** What those who post for it show. Unique among the sources; without a colon, which Basic authentication cannot carry. */
  readonly writeKey: Secret | string
  /** Whether it takes events; default true. */
  readonly enabled?: boolean
  /** Whether deletions may be asked for over HTTP with its write key (CO2); default false. */
  readonly deletions?: boolean
}

/** What all destinations of a collector have. */
interface Connected {
  /** The name by which `integrations` maps allow it or not; case sensitive. */
  readonly name: string
  /** The ids of the sources whose events it gets. */
  readonly sources: ReadonlyArray<string>
  /** The folder on a disk in which its events wait, one for each destination; default memory, or what the options say. */
  readonly outbox?: StoredIn
}

/** A webhook destination (seed, part A), and where its events come from. */
export interface WebhookDestinationSettings extends Settings, Connected {
  readonly sink?: never
}

/**
 * A sink of the host's own in place of webhooks. It can come from code only, and is closed with the collector. Up to `maxInFlight` deliveries
 * overlap: wrap it in `withConcurrency` if it cannot bear that.
 */
export interface SinkDestinationSettings extends Omit<Settings, 'webhooks'>, Connected {
  readonly sink: Sink<Payload<Event>>
  readonly webhooks?: never
}

/** One destination of a collector. */
export type DestinationSettings = WebhookDestinationSettings | SinkDestinationSettings

/** What a collector is configured with (CO1). */
export interface CollectorSettings {
  readonly sources: ReadonlyArray<SourceSettings>
  readonly destinations: ReadonlyArray<DestinationSettings>
}

const faultsOf = (input: unknown, egress: Egress | undefined): ReadonlyArray<Fault> => {
  if (!isRecord(input)) return [at('', 'the settings must be an object with sources and destinations')]
  const { sources, destinations } = input
  return [
    ...sourcesFaults(sources),
    ...destinationsFaults(destinations, sources, egress),
    ...unknownKeys(input, ['sources', 'destinations'], ''),
  ]
}

/** Settings may come from anywhere, and a getter that throws is wrong settings too. */
const readableFaults = (input: unknown, egress: Egress | undefined): ReadonlyArray<Fault> => {
  try {
    return faultsOf(input, egress)
  } catch {
    return [at('', 'the settings could not be read: give plain data')]
  }
}

const concealedDestination = (given: DestinationSettings): DestinationSettings => {
  if (given.sink === undefined) return concealed(given)
  return given.sharedSecret === undefined
    ? { ...given }
    : { ...given, sharedSecret: hidden(given.sharedSecret) }
}

/**
 * Decodes the settings of a collector: either they are right, with their write keys and secrets made unprintable, or every fault is
 * named with its path and no value. `egress` is what the URLs of the destinations may point to (DE13).
 *
 * @example
 * import { decodeCollectorSettings } from 'headrace/collector'
 *
 * const decoded = decodeCollectorSettings({
 *   sources: [{ id: 'web', writeKey: '' }],
 *   destinations: [{ name: 'hooks', sources: ['wbe'], webhooks: [{ url: 'https://a.example' }] }],
 * })
 * if (decoded._tag === 'Left') for (const { path, message } of decoded.left) console.log(path, message)
 * // => sources[0].writeKey must not be empty
 * // => destinations[0].sources[0] is no id of a source
 */
export const decodeCollectorSettings = (
  input: unknown,
  egress?: Egress,
): Either<ReadonlyArray<Fault>, CollectorSettings> => {
  const faults = readableFaults(input, egress)
  if (faults.length > 0) return left(faults)
  // Every member was checked just above.
  const { sources, destinations } = input as CollectorSettings
  return right({
    sources: sources.map((source) => ({ ...source, writeKey: hidden(source.writeKey) })),
    destinations: destinations.map(concealedDestination),
  })
}

/** A text that two write keys share only if they are the same, and that tells nothing of them; undefined for what is no secret. */
const printOf = (key: unknown): string | undefined => {
  const secret = typeof key === 'string' ? secretFrom(key) : undefined
  if (secret !== undefined && isLeft(secret)) return undefined
  try {
    // What is no secret makes it throw.
    return signerOf(secret === undefined ? (key as Secret) : secret.right)('write key')
  } catch {
    return undefined
  }
}

const keyFaults = (key: unknown, path: string): ReadonlyArray<Fault> => {
  if (typeof key === 'string') {
    const made = secretFrom(key)
    if (isLeft(made)) return [at(path, made.left.message)]
    return key.includes(':')
      ? [at(path, 'must not have a colon: Basic authentication would cut it there')]
      : []
  }
  return printOf(key) === undefined ? [at(path, 'must be a string, or a secret from secretFrom')] : []
}

const sourceFaults = (source: unknown, index: number): ReadonlyArray<Fault> => {
  const path = `sources[${String(index)}]`
  if (!isRecord(source)) return [at(path, 'must be an object with an id and a writeKey')]
  return [
    ...textFaults(source['id'], `${path}.id`),
    ...keyFaults(source['writeKey'], `${path}.writeKey`),
    ...switchFaults(source['enabled'], `${path}.enabled`),
    ...switchFaults(source['deletions'], `${path}.deletions`),
    ...unknownKeys(source, ['id', 'writeKey', 'enabled', 'deletions'], `${path}.`),
  ]
}

/** What is wrong with the sources. */
export const sourcesFaults = (sources: unknown): ReadonlyArray<Fault> => {
  if (!Array.isArray(sources) || sources.length === 0)
    return [at('sources', 'must be an array of one source or more, each with an id and a writeKey')]
  const all: ReadonlyArray<unknown> = sources
  return [
    ...all.flatMap(sourceFaults),
    ...repeated(textsOf(membersOf(all, 'id')), (index) => `sources[${String(index)}].id`),
    ...repeated(membersOf(all, 'writeKey').map(printOf), (index) => `sources[${String(index)}].writeKey`),
  ]
}

const connectionFaults = (
  sources: unknown,
  path: string,
  known: ReadonlySet<unknown>,
): ReadonlyArray<Fault> => {
  if (!Array.isArray(sources) || sources.length === 0)
    return [at(path, 'must name the ids of one source or more')]
  const ids: ReadonlyArray<unknown> = sources
  return ids.flatMap((id, index) =>
    known.has(id) ? [] : [at(`${path}[${String(index)}]`, 'is no id of a source')],
  )
}

const nameFaults = (name: unknown, path: string): ReadonlyArray<Fault> =>
  name === 'All'
    ? [at(path, 'must not be All: in an integrations map that means every destination')]
    : textFaults(name, path)

const isSink = (value: unknown): boolean =>
  isRecord(value) &&
  typeof value['name'] === 'string' &&
  typeof value['deliver'] === 'function' &&
  typeof value['close'] === 'function'

/** A webhook to put where a sink stands, so that what they have in common is checked in one place. */
const STAND_IN = [{ url: 'http://sink.invalid' }]

const ownFaults = (rest: Fields, path: string, egress: Egress | undefined): ReadonlyArray<Fault> => {
  const { sink, webhooks, ...others } = rest
  if (sink !== undefined && webhooks !== undefined)
    return [at(path, 'must have either webhooks or a sink, not both')]
  const decoded = decodeSettings(sink === undefined ? rest : { ...others, webhooks: STAND_IN }, egress)
  return [
    ...(sink === undefined || isSink(sink) ? [] : [at(`${path}.sink`, 'must be a sink')]),
    ...(isLeft(decoded) ? decoded.left.map((each) => at(`${path}.${each.path}`, each.message)) : []),
  ]
}

const destinationFaults = (
  destination: unknown,
  index: number,
  known: ReadonlySet<unknown>,
  egress: Egress | undefined,
): ReadonlyArray<Fault> => {
  const path = `destinations[${String(index)}]`
  if (!isRecord(destination)) return [at(path, 'must be an object with a name, sources and webhooks')]
  const { name, sources, outbox, ...rest } = destination
  return [
    ...nameFaults(name, `${path}.name`),
    ...connectionFaults(sources, `${path}.sources`, known),
    ...outboxFaults(outbox, `${path}.outbox`),
    ...ownFaults(rest, path, egress),
  ]
}

/** What is wrong with the destinations, given the sources to which they may be connected. */
export const destinationsFaults = (
  destinations: unknown,
  sources: unknown,
  egress: Egress | undefined,
): ReadonlyArray<Fault> => {
  if (!Array.isArray(destinations)) return [at('destinations', 'must be an array')]
  const all: ReadonlyArray<unknown> = destinations
  const known = new Set(textsOf(membersOf(Array.isArray(sources) ? sources : [], 'id')).filter(isText))
  return [
    ...all.flatMap((each, index) => destinationFaults(each, index, known, egress)),
    ...repeated(textsOf(membersOf(all, 'name')), (index) => `destinations[${String(index)}].name`),
    // One folder holds the events of one destination.
    ...repeated(
      textsOf(membersOf(membersOf(all, 'outbox'), 'path')).map((path) => path && resolve(path)),
      (index) => `destinations[${String(index)}].outbox.path`,
    ),
  ]
}
