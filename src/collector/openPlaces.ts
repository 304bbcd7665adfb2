import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { numbersOf } from '../destination/numbersOf.ts'
import { partsOf } from '../destination/partsOf.ts'
import type { Parts } from '../destination/openDestination.ts'
import { workings } from '../destination/workings.ts'
import type { Fault } from '../outcome/Refusal.ts'
import { signerOf } from '../signing/signerOf.ts'
import type { CollectorOptions, DestinationOutcome } from './Collector.ts'
import type { CollectorSettings, DestinationSettings } from './CollectorSettings.ts'
import type { Place } from './Source.ts'

const partsFor = (
  settings: DestinationSettings,
  options: CollectorOptions,
): Either<ReadonlyArray<Fault>, Parts> => {
  if (settings.sink === undefined) {
    const { outbox: _, ...shared } = options
    return partsOf(settings, shared)
  }
  const { sink, sharedSecret, enabled = true } = settings
  return right({ urls: [sink], sharedSecret, enabled })
}

const place = (
  name: string,
  { urls, sharedSecret, enabled }: Parts,
  { outbox, ...shared }: CollectorOptions,
  ended: (outcome: DestinationOutcome) => void,
): Place => {
  const options = { ...shared, ...(outbox === undefined ? {} : { outbox: outbox(name) }) }
  const signer = sharedSecret === undefined ? undefined : signerOf(sharedSecret)
  return {
    name,
    work: workings(
      {
        urls,
        numbers: numbersOf(options, 'createCollector'),
        signer,
        ended: (outcome) => {
          ended({ destination: name, outcome })
        },
      },
      options,
    ),
    signer,
    enabled,
  }
}

/**
 * Opens every destination of decoded settings, or none if the options that they share are wrong. `ended` is told each outcome of all of them.
 */
export const openPlaces = (
  { destinations }: CollectorSettings,
  options: CollectorOptions,
  ended: (outcome: DestinationOutcome) => void,
): Either<ReadonlyArray<Fault>, ReadonlyArray<Place>> => {
  const parts = destinations.map((settings) => ({ name: settings.name, of: partsFor(settings, options) }))
  const faults = new Map(
    parts.flatMap(({ of }) => (isLeft(of) ? of.left.map((fault) => [fault.path, fault] as const) : [])),
  )
  if (faults.size > 0) return left([...faults.values()])
  return right(parts.flatMap(({ name, of }) => (isLeft(of) ? [] : [place(name, of.right, options, ended)])))
}
