/** JSON Schema of io-ts codecs. Codecs are known by `_tag`: a host may have a second copy of io-ts. */
import type * as t from 'io-ts'
import { left, right, type Either } from '../core/either.ts'
import { isRecord, kindOf } from '../core/json.ts'
import type { Fault } from '../core/refusal.ts'
import type { AnyCodec } from '../event/codecFaults.ts'
import { JsonObject, toFaults, type Finding, type Key } from '../event/json.ts'
import { messageIdLength } from '../event/limits.ts'
import { kinds, members } from '../event/model.ts'
import { WebhookBody, WireBody } from '../event/webhookBody.ts'

/** A JSON Schema, draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>

const [{ event: id, messageId, timestamp }] = members.track

const TIME_PATTERN = '^\\d{4}-\\d{2}-\\d{2}T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d\\.\\d{3}Z$'

/** What codecs say that their tag does not. */
const notes = new WeakMap<object, JsonSchema>([
  [id, { type: 'string', minLength: 1 }],
  [messageId, { type: 'string', minLength: 1, maxLength: messageIdLength }],
  [timestamp, { type: 'string', format: 'date-time', pattern: TIME_PATTERN }],
  [JsonObject, { type: 'object' }],
])

/** Records of ours: if both ids may be absent, one of them is there. */
const ownRecords = new WeakSet<object>([...kinds.types, ...WireBody.types])
const A_USER = [{ required: ['userId'] }, { required: ['anonymousId'] }]

/**
 * A copy of a codec that says what its values are, for a refinement, a brand or a codec made with `new Type`.
 * The codec itself is unchanged. Nothing compares the two: check it with values of your own.
 *
 * @example
 * import { jsonSchemaOf, withSchema } from 'headrace/schema'
 * import * as t from 'io-ts'
 *
 * const Sku = t.refinement(t.string, (text) => /^[A-Z]{3}$/.test(text), 'Sku')
 * console.log(jsonSchemaOf(Sku)._tag) // => Left
 * console.log(jsonSchemaOf(withSchema({ type: 'string', pattern: '^[A-Z]{3}$' })(Sku))._tag) // => Right
 */
export const withSchema =
  (schema: JsonSchema) =>
  <C extends t.Mixed>(codec: C): C => {
    if (!isRecord(schema)) throw new TypeError(`withSchema: expected a JSON Schema, got ${kindOf(schema)}`)
    // A copy with the same prototype and members has the same type.
    const own = Object.getOwnPropertyDescriptors(codec)
    const copy = Object.create(Object.getPrototypeOf(codec) as object, own) as C
    notes.set(copy, schema)
    return copy
  }

const OBJECT_KEYS = ['type', 'properties', 'required', 'anyOf', 'additionalProperties']

const listIn = (schema: JsonSchema, key: string): ReadonlyArray<unknown> => [schema[key] ?? []].flat()

/** An object, if any, of this file or the host. A copy without a prototype: `constructor` may be a key. */
const propertiesIn = (of: JsonSchema): JsonSchema => ({ __proto__: null, ...(of['properties'] as object) })

/** Whether it refers to a place in itself, which is another one once it is a part of a larger schema. */
const refersToItself = (schema: JsonSchema): boolean =>
  !('$id' in schema) && /"\$(dynamicRef|ref)":"#/.test(JSON.stringify(schema))
const REFERS = 'has a schema with a $ref that begins with #, which leads elsewhere here: write it without'
type Resolve = (schema: JsonSchema) => JsonSchema
/** Open to the keys of other parts, in its choices too. */
const opened = (schema: JsonSchema, resolve: Resolve): JsonSchema => {
  const isOpen = ([key, value]: readonly [string, unknown]) =>
    value !== false || !/^(additional|unevaluated)Properties$/.test(key)
  const open = Object.fromEntries(Object.entries(resolve(schema)).filter(isOpen))
  if (!('anyOf' in open)) return open
  return { ...open, anyOf: listIn(open, 'anyOf').map((it) => (isRecord(it) ? opened(it, resolve) : it)) }
}

const allOf = (all: ReadonlyArray<unknown>): unknown => (all.length === 1 ? all[0] : { allOf: all })

/** Whether it takes texts alone, as keys are, or says nothing about it. */
const isOfTexts = ({ type = 'string', const: only = '', ...names }: JsonSchema): boolean =>
  type === 'string' &&
  [only, ...listIn(names, 'enum')].every((each) => typeof each === 'string') &&
  listIn(names, 'anyOf').every((each) => isRecord(each) && isOfTexts(each))

/** The parts of a value that all hold: records become one, with the keys of all of them. */
const intersectionOf = (resolve: Resolve, ...given: ReadonlyArray<JsonSchema>): JsonSchema => {
  const isPlain = (each: JsonSchema): boolean => Object.keys(each).join() === 'type'
  /** Whether another part says the same type. */
  const isSaid = ({ type }: JsonSchema, at: number): boolean =>
    given.some((other, n) => n !== at && other['type'] === type && (n < at || !isPlain(other)))
  const all = given.filter((each, at) => !isPlain(each) || !isSaid(each, at))
  const isOfRecord = (each: JsonSchema): boolean =>
    each['type'] === 'object' &&
    Object.keys(each).every((key) => OBJECT_KEYS.includes(key)) &&
    typeof (each['additionalProperties'] ?? false) === 'boolean'
  const [only] = all
  if (only !== undefined && all.length === 1) return only
  if (!all.every(isOfRecord)) return { allOf: all.map((each) => opened(each, resolve)) }
  const keys = [...new Set(all.flatMap((each) => Object.keys(propertiesIn(each))))]
  const properties = keys.map((key) => [key, allOf(all.flatMap((each) => propertiesIn(each)[key] ?? []))])
  const required = [...new Set(all.flatMap((each) => listIn(each, 'required')))]
  const choices = all.flatMap((each) => ('anyOf' in each ? [{ anyOf: each['anyOf'] }] : []))
  return {
    type: 'object',
    properties: Object.fromEntries(properties) as unknown,
    ...(required.length > 0 && { required }),
    ...(choices.length === 1 ? choices[0] : choices.length > 1 && { allOf: choices }),
    ...(given.every((each) => each['additionalProperties'] === false) && { additionalProperties: false }),
  }
}

/** The types of codecs that say nothing else. */
const JSON_TYPES = new Map(
  Object.entries({
    ...{ StringType: 'string', NumberType: 'number', BooleanType: 'boolean', NullType: 'null' },
    ...{ AnyArrayType: 'array', AnyDictionaryType: 'object' },
  }),
)

/** Where the schemas of recursive codecs stand. */
export interface SchemaPlace {
  readonly prefix: string
  readonly defs: Record<string, JsonSchema>
  /** The names of the codecs in `defs`. */
  readonly names: Map<t.Mixed, string>
}

/** The schema of a codec, or a fault for each part that says nothing. */
export const schemaIn = (codec: t.Mixed, place: SchemaPlace): Either<ReadonlyArray<Fault>, JsonSchema> => {
  const { prefix, defs, names } = place
  const findings: Finding[] = []
  const opaque = ({ name }: t.Mixed, steps: ReadonlyArray<Key>): JsonSchema => {
    const message = `the codec ${JSON.stringify(name)} has no schema: add one with withSchema`
    findings.push({ steps, message })
    return {}
  }
  const recordOf = (props: t.Props, steps: ReadonlyArray<Key>, isPartial: boolean): JsonSchema => {
    const required = Object.keys(props).filter((key) => !isPartial && props[key]?.is(undefined) === false)
    const all = Object.entries(props).map(([key, each]) => [key, go(each, [...steps, key])] as const)
    return { type: 'object', properties: Object.fromEntries(all), ...(required.length > 0 && { required }) }
  }
  const closedOf = (schema: JsonSchema, needsUser: boolean): JsonSchema => ({
    ...schema,
    // The keys of a choice, or of parts, are known to it alone.
    ['properties' in schema ? 'additionalProperties' : 'unevaluatedProperties']: false,
    ...(needsUser &&
      'anonymousId' in propertiesIn(schema) &&
      'userId' in propertiesIn(schema) &&
      !listIn(schema, 'required').includes('userId') && { anyOf: A_USER }),
  })
  /** The schema in place of a reference to it: it may be closed, and other parts have more keys. */
  const resolve: Resolve = (schema) =>
    Object.entries(defs).find(([name]) => schema['$ref'] === prefix + name)?.[1] ?? schema
  const go = (given: t.Mixed, steps: ReadonlyArray<Key>): JsonSchema => {
    const note = notes.get(given)
    const isWhole = given === codec && prefix === '#/$defs/'
    if (note !== undefined && !isWhole && refersToItself(note)) findings.push({ steps, message: REFERS })
    if (note !== undefined) return note
    const each: AnyCodec = given
    const { type = given, types = [], props = {} } = each
    const jsonType = JSON_TYPES.get(each._tag ?? '')
    if (jsonType !== undefined) return { type: jsonType }
    switch (given === WebhookBody ? 'WebhookBody' : each._tag) {
      case 'WebhookBody':
        return go(WireBody, steps)
      case 'UnknownType':
      case 'AnyType':
        return {}
      case 'UndefinedType':
      case 'VoidType':
      case 'NeverType':
        return { not: {} }
      case 'LiteralType':
        return { const: each.value }
      case 'KeyofType':
        return { enum: Object.keys(each.keys ?? {}) }
      case 'ArrayType':
      case 'ReadonlyArrayType':
        return { type: 'array', items: go(type, [...steps, '*']) }
      case 'TupleType': {
        const items = types.map((member, at) => go(member, [...steps, at]))
        const { length } = items
        const prefixed = length > 0 && { prefixItems: items }
        return { type: 'array', minItems: length, maxItems: length, ...prefixed, items: false }
      }
      case 'DictionaryType': {
        const names = go(each.domain ?? given, steps)
        if (!isOfTexts(names)) return opaque(given, steps)
        const values = go(each.codomain ?? given, [...steps, '*'])
        const keys = 'const' in names ? [names['const']] : listIn(names, 'enum')
        const propertyNames = Object.keys(names).join() === 'type' ? undefined : { propertyNames: names }
        if (keys.length === 0) return { type: 'object', additionalProperties: values, ...propertyNames }
        const properties = Object.fromEntries(keys.map((key) => [String(key), values]))
        const required = each.codomain?.is(undefined) === true ? undefined : { required: keys }
        return { type: 'object', properties, ...required }
      }
      case 'InterfaceType':
        return recordOf(props, steps, false)
      case 'StrictType':
        return closedOf(recordOf(props, steps, false), false)
      case 'PartialType':
        return recordOf(props, steps, true)
      case 'ExactType':
        return closedOf(go(type, steps), ownRecords.has(given))
      case 'ReadonlyType':
        return go(type, steps)
      case 'UnionType': {
        // JSON has no undefined: a member that may be it is a member that may be absent.
        const all = types.filter((member: AnyCodec) => !/^(Undefined|Void)Type$/.test(member._tag ?? ''))
        const schemas = all.map((member) => go(member, steps))
        if (schemas.length === 0) return { not: {} }
        const words = schemas.flatMap((one) => ('const' in one ? [one['const']] : listIn(one, 'enum')))
        if (schemas.every((schema) => /^(const|enum)$/.test(Object.keys(schema).join())))
          return { enum: [...new Set(words)] }
        return schemas.length === 1 ? (schemas[0] ?? {}) : { anyOf: schemas }
      }
      case 'IntersectionType':
        return intersectionOf(resolve, ...types.map((member) => go(member, steps)))
      case 'RefinementType':
        return given.name === 'Int' ? { type: 'integer' } : opaque(given, steps)
      case 'RecursiveType': {
        const own = given.name.replace(/[^\w.-]|^$/g, '_')
        let name = names.get(given) ?? own
        if (names.has(given)) return { $ref: prefix + name }
        for (let count = 2; name in defs; count++) name = `${own}_${String(count)}`
        names.set(given, name)
        defs[name] = { $ref: prefix + name }
        defs[name] = go(type, steps)
        return { $ref: prefix + name }
      }
      default:
        return opaque(given, steps)
    }
  }
  const schema = go(codec, [])
  return findings.length > 0 ? left(toFaults(findings)) : right(schema)
}

/**
 * The JSON Schema of a codec's values in their canonical form: what `is` accepts and JSON can hold. `decode`
 * may take more: calls without an id, keys that it drops. A part that does not say what it takes (a
 * refinement, a brand, a codec made with `new Type`) is a fault with its path, never a silent `{}`.
 *
 * @example
 * import { jsonSchemaOf } from 'headrace/schema'
 * import * as t from 'io-ts'
 *
 * const schema = jsonSchemaOf(t.type({ sku: t.string, count: t.Int }))
 * console.log(schema._tag === 'Right' ? schema.right.required : schema.left) // => [ 'sku', 'count' ]
 */
export const jsonSchemaOf = (codec: t.Mixed): Either<ReadonlyArray<Fault>, JsonSchema> => {
  const $defs: Record<string, JsonSchema> = {}
  const made = schemaIn(codec, { prefix: '#/$defs/', defs: $defs, names: new Map() })
  if (made._tag === 'Left') return made
  const $schema = 'https://json-schema.org/draft/2020-12/schema'
  return right({ $schema, ...made.right, ...(Object.keys($defs).length > 0 && { $defs }) })
}
