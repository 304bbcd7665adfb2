import type * as t from 'io-ts'
import type { Fault } from '../outcome/Refusal.ts'
import { kindOf, showPath } from './json/Finding.ts'
import type { Step } from './json/Finding.ts'
import { describe, kindsOf, oneOf, tagOf, unwrapped } from './reading/CodecTree.ts'

/** A step of an error's path that is no place in the input: which member of a union was tried. */
interface Choice {
  readonly choice: string
}

/** What one error says about its place: words of its own, or what was expected there. */
interface Leaf {
  readonly message: string | undefined
  readonly expected: string
  readonly value: unknown
}

/** An error, and the way to its place. */
interface Descent {
  readonly way: ReadonlyArray<Step | Choice>
  readonly leaf: Leaf
}

/** A fault and how deep it stands. */
interface Found extends Fault {
  readonly depth: number
}

const LISTS: ReadonlySet<string> = new Set(['ArrayType', 'ReadonlyArrayType', 'TupleType', 'AnyArrayType'])

/** Whether an entry of a path looks at the very value of the entry above it: a member of a union or of an intersection. */
const isSamePlace = (above: t.ContextEntry, entry: t.ContextEntry): boolean =>
  /^\d+$/.test(entry.key) && entry.actual === above.actual && entry.actual !== undefined

/** Where an entry of a path leads; undefined if it stays where it is. */
const stepOf = (above: t.ContextEntry, entry: t.ContextEntry): Step | Choice | undefined => {
  const tag = tagOf(unwrapped(above.type))
  if (tag === 'IntersectionType') return undefined
  if (tag === 'UnionType') return { choice: entry.key }
  if (tag !== undefined && LISTS.has(tag)) return Number(entry.key)
  // A pipe does not say what is inside it, so it is not known whether this is a union: every fault counts.
  return tag === undefined && isSamePlace(above, entry) ? undefined : entry.key
}

const descentOf = ({ context, message, value }: t.ValidationError): Descent => {
  const way: Array<Step | Choice> = []
  let above: t.ContextEntry | undefined
  for (const entry of context) {
    const step = above === undefined ? undefined : stepOf(above, entry)
    if (step !== undefined) way.push(step)
    above = entry
  }
  const codec = above?.type
  const kinds = kindsOf(unwrapped(codec))
  if (message !== undefined || kinds === undefined || typeof value !== 'object' || value === null) {
    return { way, leaf: { message, expected: describe(codec), value } }
  }
  // A union of kinds knows by which key it tells them apart; there it is that something else should stand.
  return { way: [...way, kinds.tag], leaf: { message: `must be ${oneOf(kinds.known)}`, expected: '', value } }
}

const messageOf = (leaves: ReadonlyArray<Leaf>): string => {
  const own = leaves.flatMap(({ message }) => message ?? [])
  if (own.length > 0) return [...new Set(own)].join(', or ')
  const expected = [...new Set(leaves.map((leaf) => leaf.expected))].join(' or ')
  const value = leaves[0]?.value
  if (value === undefined) return `is missing: it must be ${expected}`
  const kind = kindOf(value)
  return expected.includes(kind) || /valid|rule|whole|"/.test(expected)
    ? `must be ${expected}`
    : `must be ${expected}, not ${kind}`
}

/** The errors by what comes next on their way; those for which `keyOf` knows no key are left out. */
const grouped = <K>(
  descents: ReadonlyArray<Descent>,
  at: number,
  keyOf: (next: Step | Choice) => K | undefined,
): Map<K, Descent[]> => {
  const groups = new Map<K, Descent[]>()
  for (const descent of descents) {
    const next = descent.way[at]
    const key = next === undefined ? undefined : keyOf(next)
    if (key === undefined) continue
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [descent])
    else group.push(descent)
  }
  return groups
}

/** Of several alternatives the one that came furthest is what was meant; the faults of the others would only mislead. */
const closest = (
  alternatives: ReadonlyArray<ReadonlyArray<Found>>,
  depth: number,
): ReadonlyArray<Found> | undefined =>
  alternatives
    .filter((faults) => faults.some((fault) => fault.depth > depth))
    .reduce<ReadonlyArray<Found> | undefined>(
      (best, each) => (best === undefined || each.length < best.length ? each : best),
      undefined,
    )

/** The faults of errors that have come the same way, of which `at` steps are behind them. */
const faultsAt = (
  descents: ReadonlyArray<Descent>,
  at: number,
  steps: ReadonlyArray<Step>,
): ReadonlyArray<Found> => {
  const tried = [
    ...grouped(descents, at, (next) => (typeof next === 'object' ? next.choice : undefined)).values(),
  ]
  const meant = closest(
    tried.map((each) => faultsAt(each, at + 1, steps)),
    steps.length,
  )
  const here = [
    ...descents.filter(({ way }) => way.length === at),
    ...(meant === undefined ? tried.flat() : []),
  ].map(({ leaf }) => leaf)
  const below = grouped(descents, at, (next) => (typeof next === 'object' ? undefined : next))
  return [
    ...(here.length === 0 ? [] : [{ path: showPath(steps), message: messageOf(here), depth: steps.length }]),
    ...(meant ?? []),
    ...[...below].flatMap(([step, each]) => faultsAt(each, at + 1, [...steps, step])),
  ]
}

/**
 * The errors of any io-ts codec, in plain words: one fault for each place, with the path to it and what would be right there.
 * Members of unions and intersections are no places, so no path names them. A message that a codec brings is used as it is;
 * otherwise the words come from the codec alone, so that no value of the input is ever said (EV7).
 *
 * @example
 * import { faultsOf } from 'headrace'
 * import { isLeft } from 'fp-ts/lib/Either.js'
 * import * as t from 'io-ts'
 * const decoded = t.type({ port: t.number, hosts: t.array(t.string) }).decode({ port: '80', hosts: ['a', 1] })
 * if (isLeft(decoded)) console.log(faultsOf(decoded.left).map(({ path, message }) => `${path}: ${message}`))
 * // => [ 'port: must be a number, not a string', 'hosts[1]: must be a string, not a number' ]
 */
export const faultsOf = (errors: t.Errors): ReadonlyArray<Fault> =>
  faultsAt(errors.map(descentOf), 0, []).map(({ path, message }) => ({ path, message }))
