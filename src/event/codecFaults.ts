/** Errors of io-ts codecs as faults. Codecs are known by `_tag`: a host may have a second copy of io-ts. */
import type * as t from 'io-ts'
import { isRecord, kindOf } from '../core/json.ts'
import type { Fault } from '../core/refusal.ts'
import { toFaults, type Finding, type Key } from './json.ts'
import * as Limits from './limits.ts'

/** The members of the codecs of io-ts 2.2. */
export interface AnyCodec extends t.Mixed {
  readonly _tag?: string
  readonly value?: unknown
  readonly keys?: object
  readonly props?: t.Props
  readonly domain?: t.Mixed
  readonly codomain?: t.Mixed
  readonly types?: ReadonlyArray<t.Mixed>
  /** The element of an array, or the codec below a rule. */
  readonly type?: t.Mixed
}

const member = (codec: unknown, key: string): unknown =>
  // Sound for every object: its values stay unknown.
  typeof codec === 'object' && codec !== null ? (codec as Readonly<Record<string, unknown>>)[key] : undefined

const codecsIn = (codec: unknown, key: string): ReadonlyArray<unknown> => {
  const found = member(codec, key)
  if (Array.isArray(found)) return found
  return typeof found === 'object' && found !== null ? Object.values(found) : []
}

/** The kind of a codec; undefined for one made with `new Type`. */
const tagOf = (codec: unknown): unknown => member(codec, '_tag')

const WRAPPERS: ReadonlyArray<unknown> = ['RefinementType', 'ReadonlyType', 'ExactType', 'RecursiveType']

/** The codec inside those that only add a rule. */
const unwrapped = (codec: unknown): unknown =>
  WRAPPERS.includes(tagOf(codec)) ? unwrapped(member(codec, 'type')) : codec

const literalsAt = (codec: unknown, key: string): ReadonlyArray<unknown> => {
  const inner = unwrapped(codec)
  const found = unwrapped(member(member(inner, 'props'), key))
  if (tagOf(found) === 'LiteralType') return [member(found, 'value')]
  return codecsIn(inner, 'types').flatMap((each) => literalsAt(each, key))
}

const CODEC_WORDS: ReadonlyMap<unknown, string> = new Map(
  Object.entries({
    'a string': 'StringType',
    'a number': 'NumberType',
    'a BigInt': 'BigIntType',
    'true or false': 'BooleanType',
    null: 'NullType',
    'left out': 'UndefinedType VoidType NeverType',
    'a function': 'FunctionType',
    'an array': 'AnyArrayType ArrayType ReadonlyArrayType TupleType',
    'an object':
      'AnyDictionaryType DictionaryType InterfaceType StrictType PartialType IntersectionType ObjectType',
  }).flatMap(([words, tags]) => tags.split(' ').map((tag) => [tag, words] as const)),
)

const oneOfText = (all: ReadonlyArray<unknown>): string =>
  all.length === 1 ? JSON.stringify(all[0]) : `one of ${all.map((each) => JSON.stringify(each)).join(', ')}`

/** The expectation of a codec: `a string`, `one of "a", "b"`; for a codec of a host its name. */
const describe = (codec: unknown): string => {
  const tag = tagOf(codec)
  const name = member(codec, 'name')
  const plain = CODEC_WORDS.get(tag)
  if (plain !== undefined) return plain
  if (tag === 'LiteralType') return oneOfText([member(codec, 'value')])
  if (tag === 'KeyofType') return oneOfText(Object.keys(member(codec, 'keys') ?? {}))
  if (tag === 'UnionType') return [...new Set(codecsIn(codec, 'types').map(describe))].join(' or ')
  const isRefined = tag === 'RefinementType'
  if (WRAPPERS.includes(tag) && !isRefined) return describe(member(codec, 'type'))
  if (isRefined && (name === 'Int' || name === 'Integer')) return 'a whole number'
  // Names that io-ts makes itself, like "(string | <function1>)", are left out.
  if (typeof name === 'string' && /^\w[\w .-]*$/.test(name)) return `a valid ${name}`
  return isRefined ? `${describe(member(codec, 'type'))} that fits the rule` : 'valid'
}

/** A member of a union that was tried. It is no step in the input. */
type UnionBranch = Readonly<{ choice: string }>

/** One error: the path to its place, and the expected value. */
interface Issue {
  readonly path: ReadonlyArray<Key | UnionBranch>
  /** The codec's own message. */
  readonly message: string | undefined
  readonly expected: string
  readonly value: unknown
}

/** Where an entry of a path leads; undefined if it stays where it is. */
const stepOf = (above: t.ContextEntry, entry: t.ContextEntry): Key | UnionBranch | undefined => {
  const tag = tagOf(unwrapped(above.type))
  if (tag === 'IntersectionType') return undefined
  if (tag === 'UnionType') return { choice: entry.key }
  if (CODEC_WORDS.get(tag) === 'an array') return Number(entry.key)
  // A pipe does not name its inside: an index to the same value is a member of a union or an intersection.
  const isSame = tag === undefined && entry.actual !== undefined && entry.actual === above.actual
  return isSame && /^\d+$/.test(entry.key) ? undefined : entry.key
}

const issueOf = ({ context, message, value }: t.ValidationError): Issue => {
  const path = context.flatMap<Key | UnionBranch>((entry, at) => {
    const above = context[at - 1]
    return above === undefined ? [] : (stepOf(above, entry) ?? [])
  })
  const codec = unwrapped(context.at(-1)?.type)
  const tag = member(codec, 'tag')
  if (message !== undefined || typeof tag !== 'string' || !isRecord(value))
    return { path, message, expected: describe(context.at(-1)?.type), value }
  // For a tagged union the fault stands at the tag.
  const known = codecsIn(codec, 'types').flatMap((each) => literalsAt(each, tag))
  return { path: [...path, tag], message: `must be ${oneOfText(known)}`, expected: '', value }
}

const leafMessage = (leaves: ReadonlyArray<Issue>): string => {
  const own = leaves.flatMap(({ message = '' }) => (message === '' ? [] : message))
  if (own.length > 0) return [...new Set(own)].join(', or ')
  const expected = [...new Set(leaves.map((leaf) => leaf.expected))].join(' or ')
  const value = leaves[0]?.value
  if (value === undefined) return `is missing: it must be ${expected}`
  const kind = kindOf(value)
  const isSaid = expected.includes(kind) || /valid|rule|whole|"/.test(expected)
  return `must be ${expected}${isSaid ? '' : `, not ${kind}`}`
}

/** The findings of errors whose paths begin with the same steps. */
const findingsAt = (issues: ReadonlyArray<Issue>, at: number, steps: ReadonlyArray<Key>): Finding[] => {
  const ending: Issue[] = []
  const tried: Issue[][] = []
  const below: Array<readonly [Key, Issue[]]> = []
  const keyOf = ({ path }: Issue): string => {
    const next = path[at]
    return typeof next === 'object' ? `choice ${next.choice}` : `step ${String(next)}`
  }
  const groups: Record<string, Issue[]> = {}
  for (const issue of issues) (groups[keyOf(issue)] ??= []).push(issue)
  for (const group of Object.values(groups)) {
    const next = group[0]?.path[at]
    if (next === undefined) ending.push(...group)
    else if (typeof next === 'object') tried.push(group)
    else below.push([next, group])
  }
  // The alternative that came further is meant, with the fewest faults.
  const [meant] = tried
    .map((each) => findingsAt(each, at + 1, steps))
    .filter((findings) => findings.some((each) => each.steps.length > steps.length))
    .sort((one, other) => one.length - other.length)
  const here = meant === undefined ? [...ending, ...tried.flat()] : ending
  return [
    ...(here.length === 0 ? [] : [{ steps, message: leafMessage(here) }]),
    ...(meant ?? []),
    ...below.flatMap(([step, each]) => findingsAt(each, at + 1, [...steps, step])),
  ]
}

/** What is wrong, by the steps to each place. */
export const findingsOf = (errors: t.Errors): ReadonlyArray<Finding> =>
  errors.length === 0
    ? [{ steps: [], message: 'does not fit the codec, which gives no reason' }]
    : findingsAt(errors.slice(0, Limits.findings).map(issueOf), 0, [])

/**
 * The errors of any io-ts codec in plain words: one fault for each place, with its path and the right form;
 * of the first 1,000 errors.
 * Paths do not name the members of unions and intersections. A message of the codec is used as it is;
 * otherwise the words come from the codec alone, so that no value of the input is shown.
 *
 * @example
 * import { faultsOf } from 'headrace/events'
 * import { isLeft } from 'fp-ts/lib/Either.js'
 * import * as t from 'io-ts'
 * const Server = t.type({ port: t.number, hosts: t.array(t.string) })
 * const decoded = Server.decode({ port: '80', hosts: ['a', 1] })
 * if (isLeft(decoded)) console.log(faultsOf(decoded.left).map(({ path, message }) => `${path}: ${message}`))
 * // => [ 'port: must be a number, not a string', 'hosts[1]: must be a string, not a number' ]
 */
export const faultsOf = (errors: t.Errors): ReadonlyArray<Fault> => toFaults(findingsOf(errors))
