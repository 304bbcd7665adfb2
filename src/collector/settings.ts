/** Settings and options of a collector: decoded from unknown input, all faults at once. */
import { resolve } from 'node:path'
import { left, type Either } from '../core/either.ts'
import { decodeOptions, flag, func, list, oneOf, option, optional } from '../core/options.ts'
import { optionalKey, strict, text, wholeNumber, withDefault } from '../core/options.ts'
import type { Decoded, Faults, Option } from '../core/options.ts'
import type { Fault } from '../core/refusal.ts'
import { repeats, sharedOptionsWith, ownHeaderFaults, webhookList } from '../destination/settings.ts'
import type { CheckedOptions, Settings, SharedOptions } from '../destination/settings.ts'
import type { Event } from '../event/event.ts'
import { receivedBatchBytes, receivedCallBytes } from '../event/limits.ts'
import type { Payload } from '../event/payload.ts'
import { withEgressFaults, type Egress } from '../http/egress.ts'
import { secretOption, secretSourceOption, standardSecretOption } from '../http/httpOptions.ts'
import { storedIn, type StoredIn } from '../outbox/lmdb/contract.ts'
import { signerOf, type Secret } from '../signing/secret.ts'
import { sinkOption, type Sink } from '../sink/sink.ts'

/** A source of events: a web site, an app, a server. */
export interface SourceSettings {
  /** Its name, by which destinations are connected to it. */
  readonly id: string
  /** Authenticates its senders. Unique among the sources; without a colon, which Basic cannot carry. */
  readonly writeKey: Secret | string
  /** Whether it accepts events. Default true. */
  readonly enabled?: boolean
  /** Whether deletions may be requested over HTTP with its write key. Default false. */
  readonly deletions?: boolean
}

interface Connected {
  /** The name by which `integrations` allow it or not; case sensitive. */
  readonly name: string
  /** The ids of the sources whose events it gets. */
  readonly sources: ReadonlyArray<string>
  /** The folder in which its events wait, one for each destination. Default: the option `outbox`, memory. */
  readonly outbox?: StoredIn
}

/** A webhook destination, and its sources. */
export interface WebhookDestinationSettings extends Settings, Connected {
  readonly sink?: never
}

/**
 * A sink of your own in place of webhooks, from code only. It is closed with the collector. Up to
 * `maxInFlight` deliveries run at once: wrap it in `withConcurrency` if that is too many.
 */
export interface SinkDestinationSettings extends Omit<Settings, 'webhooks' | 'standardSecret'>, Connected {
  readonly sink: Sink<Payload<Event>>
  readonly standardSecret?: never
  readonly webhooks?: never
}

/** One destination of a collector. */
export type DestinationSettings = SinkDestinationSettings | WebhookDestinationSettings

/** The settings of a collector. */
export interface CollectorSettings {
  readonly sources: ReadonlyArray<SourceSettings>
  readonly destinations: ReadonlyArray<DestinationSettings>
}

const writeKey: Option<Secret> = option('a write key', (value) =>
  typeof value === 'string' && value.includes(':')
    ? left('must not have a colon: Basic authentication would cut it there')
    : decodeOptions(secretOption, value),
)

const source = strict({ id: text, writeKey, enabled: optional(flag), deletions: optional(flag) })

const sources = list('sources with an id and a writeKey', 1, Infinity, source, (all) => {
  const ids = all.map(({ id }) => id)
  // Signatures of equal keys are equal, and show nothing of the keys.
  const keys = all.map((each) => signerOf(each.writeKey)('write key'))
  return [...repeats('sources', 'id', ids), ...repeats('sources', 'writeKey', keys)]
})

const name: Option<string> = option('a name', (value) =>
  value === 'All'
    ? left('must not be All: in an integrations map it means every destination')
    : decodeOptions(text, value),
)

const destinations = (egress: Egress | undefined) => {
  const destination = strict(
    {
      name,
      sources: list('ids of sources', 1, Infinity, text),
      outbox: optionalKey(storedIn),
      sharedSecret: optionalKey(secretSourceOption),
      standardSecret: optionalKey(standardSecretOption),
      enabled: optional(flag),
      webhooks: optional(webhookList(egress)),
      sink: optional(sinkOption<Payload<Event>>()),
    },
    (each) =>
      (each.webhooks === undefined) === (each.sink === undefined)
        ? [{ path: '', message: 'must have either webhooks or a sink' }]
        : ownHeaderFaults(each),
  )
  return list('destinations', 0, Infinity, destination, (all) => {
    const names = all.map((each) => each.name)
    // A folder holds the events of one destination.
    const folders = all.map(({ outbox }) => outbox && resolve(outbox.path))
    return [...repeats('destinations', 'name', names), ...repeats('destinations', 'outbox.path', folders)]
  })
}

/**
 * Decodes the settings of a collector: the settings with their write keys and secrets made unprintable, or
 * all faults, each with its path and without the value. `egress` limits what the URLs of the destinations may
 * point to; wrong rules are faults too.
 *
 * @example
 * import { decodeCollectorSettings } from 'headrace/collector'
 *
 * const decoded = decodeCollectorSettings({
 *   sources: [{ id: 'web', writeKey: '' }],
 *   destinations: [{ name: 'hooks', sources: ['web'], webhooks: [{ url: 'ftp://a.example' }] }],
 * })
 * if (decoded._tag === 'Left') for (const { path, message } of decoded.left) console.log(path, message)
 * // => sources[0].writeKey must not be empty
 * // => destinations[0].webhooks[0].url must begin with http:// or https://
 */
export const decodeCollectorSettings = (
  input: unknown,
  egress?: Egress,
): Either<ReadonlyArray<Fault>, CollectorSettings> => {
  const settings = strict({ sources, destinations: destinations(egress) }, (given) => {
    const ids = new Set(given.sources.map(({ id }) => id))
    const more = ids.size > 20 ? ', …' : ''
    const message = `is not the id of a source (the ids are ${[...ids].slice(0, 20).join(', ')}${more})`
    return given.destinations.flatMap((destination, at) =>
      destination.sources.flatMap((id, index) => {
        const path = `destinations[${String(at)}].sources[${String(index)}]`
        return ids.has(id) ? [] : [{ path, message }]
      }),
    )
  })
  // Each destination has webhooks or a sink, and not both: the rule above.
  return withEgressFaults(egress, decodeOptions(settings, input) as Either<Faults, CollectorSettings>)
}

const ownShape = {
  outbox: optionalKey(func<(destination: string) => NonNullable<CheckedOptions['outbox']>>()),
  whenFull: withDefault(oneOf('deadLetter', 'refuse'), 'deadLetter'),
  maxMessageBytes: withDefault(wholeNumber('bytes', 1), receivedCallBytes),
  maxBatchBytes: withDefault(wholeNumber('bytes', 1), receivedBatchBytes),
  uploadTimeout: withDefault(wholeNumber('ms', 1), 30_000),
  maxUploadBytes: withDefault(wholeNumber('bytes', 1), 67_108_864),
}

export type CheckedCollectorOptions = SharedOptions & Decoded<typeof ownShape>

export const collectorOptions: Option<CheckedCollectorOptions> = sharedOptionsWith(ownShape)
