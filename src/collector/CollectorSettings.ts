/**
 * The settings of a collector (CO1): decoded from unknown input, every fault at once, before anything runs.
 *
 * @module
 */
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { StoredIn } from '../outbox/lmdb/LmdbContract.ts'
import { concealed, hidden } from '../destination/Settings.ts'
import type { Settings } from '../destination/Settings.ts'
import type { Event } from '../event/Event.ts'
import type { Payload } from '../event/Payload.ts'
import { isRecord } from '../internal/Fields.ts'
import type { Fault } from '../outcome/Refusal.ts'
import type { Secret } from '../signing/Secret.ts'
import type { Sink } from '../sink/Sink.ts'
import type { Egress } from '../sinks/webhook.ts'
import { at, unknownKeys } from './settings/Checks.ts'
import { destinationsFaults } from './settings/destinationsFaults.ts'
import { sourcesFaults } from './settings/sourcesFaults.ts'

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
 * A sink of the host's own in place of webhooks. It can come from code only, and is closed with the collector. Up to `inRound` deliveries
 * overlap: wrap it in `limiting` if it cannot bear that.
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
