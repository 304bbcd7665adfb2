import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Fault } from '../core/refusal.ts'
import { partsOf } from '../destination/createDestination.ts'
import type { Parts } from '../destination/createDestination.ts'
import { numbersOf } from '../destination/options.ts'
import { ownSinkOf, sinkOf, workings } from '../destination/worker.ts'
import type { Surroundings } from '../destination/worker.ts'
import type { Event } from '../event/event.ts'
import type { Payload } from '../event/payload.ts'
import { isStoredIn } from '../outbox/lmdb/contract.ts'
import { outboxFault, OutboxError } from '../outbox/lmdb/contract.ts'
import { signerOf } from '../signing/sign.ts'
import type { Sink } from '../sink/sink.ts'
import type { CollectorOptions, DestinationOutcome, Place } from './collector.ts'
import type { CollectorSettings, DestinationSettings } from './settings.ts'

type SinkIn = (surroundings: Surroundings) => Sink<Payload<Event>>

/** Of several folders one cannot be opened: says whose. */
const named = <A>(name: string, open: () => A): A => {
  try {
    return open()
  } catch (error) {
    if (!(error instanceof OutboxError)) throw error
    const { reason, path, message } = error
    throw new OutboxError(outboxFault(reason, path, `destination ${JSON.stringify(name)}: ${message}`))
  }
}

/** The place of a destination, or what is wrong with the options for its URLs. */
const placeOf = (
  settings: DestinationSettings,
  { outbox, ...shared }: CollectorOptions,
  ended: (outcome: DestinationOutcome) => void,
): Either<ReadonlyArray<Fault>, () => Place> => {
  const { name } = settings
  const make =
    (sinkIn: SinkIn, { enabled }: Pick<Parts, 'enabled'>) =>
    (): Place => {
      const given = settings.outbox ?? outbox?.(name)
      const kept = isStoredIn(given) ? { owner: name, ...given } : given
      return {
        name,
        work: named(name, () =>
          workings(
            {
              sinkIn,
              numbers: numbersOf(shared, 'createCollector'),
              ended: (outcome) => {
                ended({ destination: name, outcome })
              },
            },
            { ...shared, ...(kept === undefined ? {} : { outbox: kept }) },
          ),
        ),
        enabled,
      }
    }
  if (settings.sink !== undefined) {
    const { sink, sharedSecret, enabled = true } = settings
    const signer = sharedSecret === undefined ? undefined : signerOf(sharedSecret)
    return right(make((around) => ownSinkOf(sink, signer, around), { enabled }))
  }
  const parts = partsOf(settings, shared)
  return isLeft(parts) ? parts : right(make((around) => sinkOf(parts.right.urls, around), parts.right))
}

/** Opens all, or none: a folder may be in use, and then those that are open already give theirs back. */
const openAll = (places: ReadonlyArray<() => Place>): ReadonlyArray<Place> => {
  const opened: Place[] = []
  try {
    for (const open of places) opened.push(open())
  } catch (error) {
    for (const { work } of opened) void work.close({ timeout: 0 })
    throw error
  }
  return opened
}

/**
 * Opens every destination of decoded settings, or none if the options that they share are wrong. `ended` is told each outcome of all of them.
 */
export const openPlaces = (
  { destinations }: CollectorSettings,
  options: CollectorOptions,
  ended: (outcome: DestinationOutcome) => void,
): Either<ReadonlyArray<Fault>, ReadonlyArray<Place>> => {
  const places = destinations.map((settings) => placeOf(settings, options, ended))
  const faults = new Map(
    places.flatMap((place) => (isLeft(place) ? place.left.map((fault) => [fault.path, fault] as const) : [])),
  )
  if (faults.size > 0) return left([...faults.values()])
  return right(openAll(places.flatMap((place) => (isLeft(place) ? [] : [place.right]))))
}
