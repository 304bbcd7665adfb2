/**
 * What an io-ts codec tells about itself. Codecs are told apart by their `_tag`, not by their class: a host may have a second
 * copy of io-ts.
 *
 * @module
 */

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
