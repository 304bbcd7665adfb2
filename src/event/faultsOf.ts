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

/** An error, with what is left of the way to its place. */
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

const stepOf = (above: t.ContextEntry, entry: t.ContextEntry): ReadonlyArray<Step | Choice> => {
  const tag = tagOf(unwrapped(above.type))
  if (tag === 'IntersectionType') return []
  if (tag === 'UnionType') return [{ choice: entry.key }]
  if (tag !== undefined && LISTS.has(tag)) return [Number(entry.key)]
  return tag === undefined && isSamePlace(above, entry) ? [{ choice: entry.key }] : [entry.key]
}

const descentOf = ({ context, message, value }: t.ValidationError): Descent => {
  const way = context.flatMap((entry, at) => {
    const above = context[at - 1]
    return above === undefined ? [] : stepOf(above, entry)
  })
  const codec = context.at(-1)?.type
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

const grouped = <K>(
  descents: ReadonlyArray<Descent>,
  keyOf: (head: Step | Choice) => K | undefined,
): Map<K, Descent[]> => {
  const groups = new Map<K, Descent[]>()
  for (const { way, leaf } of descents) {
    const [head, ...rest] = way
    const key = head === undefined ? undefined : keyOf(head)
    if (key === undefined) continue
    const group = groups.get(key) ?? []
    groups.set(key, group)
    group.push({ way: rest, leaf })
  }
  return groups
}

const faultsAt = (descents: ReadonlyArray<Descent>, steps: ReadonlyArray<Step>): ReadonlyArray<Found> => {
  const tried = grouped(descents, (head) => (typeof head === 'object' ? head.choice : undefined))
  const alternatives = [...tried.values()].map((each) => faultsAt(each, steps))
  // Of several alternatives the one that came furthest is what was meant; the faults of the others would only mislead.
  const meant = alternatives
    .filter((faults) => faults.some(({ depth }) => depth > steps.length))
    .reduce<ReadonlyArray<Found> | undefined>(
      (best, each) => (best === undefined || each.length < best.length ? each : best),
      undefined,
    )
  const leaves = [
    ...descents.filter(({ way }) => way.length === 0),
    ...(meant === undefined ? [...tried.values()].flat() : []),
  ].map(({ leaf }) => leaf)
  const here =
    leaves.length === 0 ? [] : [{ path: showPath(steps), message: messageOf(leaves), depth: steps.length }]
  const below = grouped(descents, (head) => (typeof head === 'object' ? undefined : head))
  return [
    ...here,
    ...(meant ?? []),
    ...[...below].flatMap(([step, each]) => faultsAt(each, [...steps, step])),
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
 * // [ 'port: must be a number, not a string', 'hosts[1]: must be a string, not a number' ]
 */
export const faultsOf = (errors: t.Errors): ReadonlyArray<Fault> =>
  faultsAt(errors.map(descentOf), []).map(({ path, message }) => ({ path, message }))
