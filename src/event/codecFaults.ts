/**
 * What an io-ts codec tells about itself. Codecs are told apart by their `_tag`, not by their class: a host may have a second
 * copy of io-ts.
 *
 * @module
 */

import { kindOf } from '../core/json.ts'
import type * as t from 'io-ts'
import type { Fault } from '../core/refusal.ts'
import { hasToJson, showPath } from './json.ts'
import type { Step } from './json.ts'
import type { Kind } from './kinds.ts'
import type { Field, Reading } from './reading.ts'

const member = (codec: unknown, key: string): unknown =>
  // Sound for every object: what stands there stays unknown.
  typeof codec === 'object' && codec !== null ? (codec as Readonly<Record<string, unknown>>)[key] : undefined

const codecsIn = (codec: unknown, key: string): ReadonlyArray<unknown> => {
  const found = member(codec, key)
  if (Array.isArray(found)) return found
  return typeof found === 'object' && found !== null ? Object.values(found) : []
}

/** What kind of codec it is; undefined for one that somebody made with `new Type`. */
export const tagOf = (codec: unknown): string | undefined => {
  const tag = member(codec, '_tag')
  return typeof tag === 'string' ? tag : undefined
}

const WRAPPERS: ReadonlySet<string> = new Set([
  'RefinementType',
  'ReadonlyType',
  'ExactType',
  'RecursiveType',
])

/** The codec inside those that only add a rule and are no place in the input. */
export const unwrapped = (codec: unknown): unknown => {
  let inner = codec
  while (WRAPPERS.has(tagOf(inner) ?? '')) inner = member(inner, 'type')
  return inner
}

/** The keys that a union of kinds tells its members apart by, and the values it knows; undefined for other codecs. */
export const kindsOf = (
  codec: unknown,
): { readonly tag: string; readonly known: ReadonlyArray<unknown> } | undefined => {
  const tag = member(codec, 'tag')
  if (typeof tag !== 'string') return undefined
  return { tag, known: codecsIn(codec, 'types').flatMap((each) => literalsAt(each, tag)) }
}

const literalsAt = (codec: unknown, key: string): ReadonlyArray<unknown> => {
  const inner = unwrapped(codec)
  const found = unwrapped(member(member(inner, 'props'), key))
  if (tagOf(found) === 'LiteralType') return [member(found, 'value')]
  return codecsIn(inner, 'types').flatMap((each) => literalsAt(each, key))
}

const PLAIN: Readonly<Record<string, string>> = {
  StringType: 'a string',
  NumberType: 'a number',
  BigIntType: 'a BigInt',
  BooleanType: 'true or false',
  NullType: 'null',
  UndefinedType: 'left out',
  VoidType: 'left out',
  NeverType: 'left out',
  FunctionType: 'a function',
  AnyArrayType: 'an array',
  ArrayType: 'an array',
  ReadonlyArrayType: 'an array',
  TupleType: 'an array',
  AnyDictionaryType: 'an object',
  DictionaryType: 'an object',
  InterfaceType: 'an object',
  StrictType: 'an object',
  PartialType: 'an object',
  IntersectionType: 'an object',
  ObjectType: 'an object',
}

/** Values of a codec's own, such as the kinds that are known, as a list for people. */
export const oneOf = (values: ReadonlyArray<unknown>): string =>
  values.length === 1
    ? JSON.stringify(values[0])
    : `one of ${values.map((each) => JSON.stringify(each)).join(', ')}`

/** What a codec wants, in plain words: `a string`, `one of "a", "b"`; for a codec of a host's own its name. */
export const describe = (codec: unknown): string => {
  const tag = tagOf(codec)
  const name = member(codec, 'name')
  const plain = PLAIN[tag ?? '']
  if (plain !== undefined) return plain
  switch (tag) {
    case 'LiteralType':
      return oneOf([member(codec, 'value')])
    case 'KeyofType':
      return oneOf(Object.keys(member(codec, 'keys') ?? {}))
    case 'UnionType':
      return [...new Set(codecsIn(codec, 'types').map(describe))].join(' or ')
    case 'RefinementType':
      if (name === 'Int' || name === 'Integer') return 'a whole number'
      break
    case 'ReadonlyType':
    case 'ExactType':
    case 'RecursiveType':
      return describe(member(codec, 'type'))
    default:
  }
  // A name that io-ts put together itself, like "(string | <function1>)", helps nobody.
  if (typeof name === 'string' && /^\w[\w .-]*$/.test(name)) return `a valid ${name}`
  return tag === 'RefinementType' ? `${describe(member(codec, 'type'))} that fits the rule` : 'valid'
}

/** Codecs that give back what they got, provided that those inside them do. */
const KEEPING: ReadonlySet<string> = new Set([
  ...Object.keys(PLAIN).filter((tag) => tag !== 'ObjectType' && tag !== 'StrictType'),
  'UnknownType',
  'AnyType',
  'LiteralType',
  'KeyofType',
  'UnionType',
  'RefinementType',
  'ReadonlyType',
  'RecursiveType',
])

/**
 * A codec whose `validate` was replaced after it was made, as io-ts-types does for `withFallback` and `fromNullable`: it has
 * a `decode` of its own too, where io-ts binds the one of its class.
 */
const isReplaced = (codec: unknown): boolean => {
  const decode = member(codec, 'decode')
  return typeof decode !== 'function' || !decode.name.startsWith('bound ')
}

/**
 * Whether a codec gives back the very value it got whenever `is` says yes, so that `is` may stand for `decode`. Anything
 * unknown counts as no: a codec made with `new Type` may change what it reads, and an exact one takes keys away.
 */
export const isKeeping = (codec: unknown, seen: ReadonlySet<unknown> = new Set()): boolean => {
  if (seen.has(codec)) return true
  const tag = tagOf(codec)
  if (tag === undefined || !KEEPING.has(tag) || isReplaced(codec)) return false
  // A record whose keys are not free takes away those that it does not know.
  if (tag === 'DictionaryType' && tagOf(member(codec, 'domain')) !== 'StringType') return false
  const inside = [
    ...['type', 'domain', 'codomain'].map((key) => member(codec, key)).filter((each) => each !== undefined),
    ...codecsIn(codec, 'props'),
    ...codecsIn(codec, 'types'),
  ]
  return inside.every((each) => isKeeping(each, new Set([...seen, codec])))
}

const ALL: ReadonlyArray<Field> = ['type', 'messageId', 'timestamp', 'userId']
const ROUTED: ReadonlyArray<Field> = [...ALL, 'anonymousId', 'context', 'integrations']

const FIELDS_OF: Readonly<Record<Kind, ReadonlyArray<Field>>> = {
  page: [...ROUTED, 'name', 'category', 'properties', 'traits'],
  screen: [...ROUTED, 'name', 'properties'],
  identify: [...ROUTED, 'traits'],
  track: [...ROUTED, 'event', 'properties'],
  alias: [...ROUTED, 'previousId'],
  group: [...ROUTED, 'groupId', 'traits'],
  delete: ALL,
}

/** The top-level keys of an input that an event of its kind does not carry (EV3). Only names, never values. */
export const droppedKeys = (look: Reading, kind: Kind, input: object): ReadonlyArray<string> => {
  const carried = FIELDS_OF[kind]
  return Object.keys(input).filter((key) => {
    const field = look.form.fieldOf(key)
    return field === undefined || !carried.includes(field)
  })
}

const wrong = (look: Reading, message: string, ...steps: ReadonlyArray<string>): false => {
  look.findings.push({ steps, message })
  return false
}

/** What an object with a `toJSON` stands for; everything else stands for itself. */
const meantBy = (input: object): unknown => (hasToJson(input) ? input.toJSON('') : input)

/** Mostly its prototype says it, and looking along it for each of the others is felt. */
const isOrdinary = (value: object): boolean =>
  Object.getPrototypeOf(value) === Object.prototype ||
  !(value instanceof Map || value instanceof Set || value instanceof Date)

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !ArrayBuffer.isView(value) &&
  isOrdinary(value)

const readMembers = (look: Reading, members: object): boolean => {
  let readable = true
  for (const key of Object.keys(members)) {
    if (key === '__proto__') wrong(look, 'is a key that receivers refuse: rename it', key)
    const field = look.form.fieldOf(key)
    if (field === undefined) continue
    try {
      // Sound for every object: it is read by a key of its own, and what stands there stays unknown.
      look.fields[field] = (members as Readonly<Record<string, unknown>>)[key]
    } catch {
      readable = wrong(look, 'could not be read: looking at it throws an error', key)
    }
  }
  return readable
}

/**
 * Reads the members of an event once each, by its own keys, as JSON would see them. False if there is no use in looking
 * further; what is wrong is in the findings then. Never throws.
 */
export const gather = (look: Reading, input: unknown): boolean => {
  const example = 'such as {"type":"track","userId":"u1","event":"Signed Up"}'
  if (typeof input !== 'object' || input === null) {
    return wrong(look, `must be an object, ${example}, not ${kindOf(input)}`)
  }
  let members: unknown
  try {
    members = isPlain(input) ? meantBy(input) : input
  } catch {
    return wrong(look, 'has a toJSON that throws an error')
  }
  try {
    return isPlain(members)
      ? readMembers(look, members)
      : wrong(look, `must be an object, ${example}, not ${kindOf(members)}`)
  } catch {
    return wrong(look, 'could not be read: looking at it throws an error')
  }
}

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
