import { isLeft } from 'fp-ts/lib/Either.js'
import { decodeSettings } from '../../destination/Settings.ts'
import { isRecord } from '../../internal/Fields.ts'
import type { Fields } from '../../internal/Fields.ts'
import type { Fault } from '../../outcome/Refusal.ts'
import type { Egress } from '../../sinks/webhook.ts'
import { wholePath } from '../../outbox/lmdb/opening/wholePath.ts'
import { at, isText, membersOf, repeated, textFaults, textsOf } from './Checks.ts'
import { outboxFaults } from './outboxFaults.ts'

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
      textsOf(membersOf(membersOf(all, 'outbox'), 'path')).map((path) => path && wholePath(path)),
      (index) => `destinations[${String(index)}].outbox.path`,
    ),
  ]
}
