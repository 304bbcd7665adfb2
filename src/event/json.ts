/** Plain JSON data: values that `JSON.stringify` writes and `JSON.parse` gives back without loss. */
import * as t from 'io-ts'
import { isAnyArrayBuffer, isBoxedPrimitive, isDate, isMap, isSet } from 'node:util/types'
import { ignoreRejection, isPromiseLike } from '../core/awaitable.ts'
import { isRecord, kindOf, type Fields } from '../core/json.ts'
import type { Fault } from '../core/refusal.ts'
import * as Limits from './limits.ts'

/** JSON data. Numbers are finite, and never -0, which `JSON.stringify` never writes. */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | JsonObject

/** An object of JSON data. */
export interface JsonObject {
  readonly [key: string]: Json
}

/** A step into an object (a key) or into an array (a position). */
export type Key = string | number

export interface Finding {
  readonly steps: ReadonlyArray<Key>
  readonly message: string
}

const isPlainJson = (value: unknown, depth: number, budget: { room: number }): boolean => {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
    case 'object':
      return value === null || (depth < Limits.nesting && hasPlainMembers(value, depth + 1, budget))
    default:
      return false
  }
}

const hasPlainMembers = (value: object, depth: number, budget: { room: number }): boolean => {
  if (Array.isArray(value)) {
    budget.room -= value.length
    if (budget.room < 0) return false
    for (const each of value) if (typeof each !== 'string' && !isPlainJson(each, depth, budget)) return false
    return true
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return false
  // `Object.keys` makes a list: it took 0.2 of the 0.95 µs of a call of 1 KB.
  for (const key in value) {
    if (--budget.room < 0 || key === '__proto__') return false
    // Sound for every object: the member stays unknown.
    const member = (value as Fields)[key]
    // Most members are strings: no call for them saves 15 % of an event of 1 KB.
    if (typeof member !== 'string' && !isPlainJson(member, depth, budget)) return false
  }
  return true
}

/** Whether a value is plain JSON data, which need not be copied if only we hold it. Never throws. */
export const isJson = (value: unknown): value is Json => {
  try {
    return isPlainJson(value, 1, { room: Limits.values })
  } catch {
    return false
  }
}

const PLAIN_KEY = /^[\p{L}\p{N}_$ -]+$/u
const MAX_KEY = 60
const MAX_STEPS = 12

const showStep = (step: Key): string => {
  if (typeof step === 'number') return `[${String(step)}]`
  const shown = step.length > MAX_KEY ? `${step.slice(0, MAX_KEY)}…` : step
  return PLAIN_KEY.test(step.slice(0, MAX_KEY)) ? `.${shown}` : `[${JSON.stringify(shown)}]`
}

/** A path for people: `properties.list[3].url`. Unclear keys are quoted; long paths lose their middle. */
export const showPath = (steps: ReadonlyArray<Key>): string => {
  const shown = steps.map(showStep)
  if (steps.length > MAX_STEPS) shown.splice(MAX_STEPS / 2, steps.length - MAX_STEPS, '.…')
  return shown.join('').replace(/^\./, '')
}

export const toFaults = (findings: ReadonlyArray<Finding>): ReadonlyArray<Fault> =>
  findings.map(({ steps, message }) => ({ path: showPath(steps), message }))

/** The findings as io-ts errors without values, so that our codecs can stand inside codecs of a host. */
export const toErrors = (findings: ReadonlyArray<Finding>, context: t.Context): t.Errors =>
  findings.map(({ steps, message }) => {
    const entries = [...context.slice(-1), ...steps.map((step) => ({ key: String(step) }))]
    // `faultsOf` knows an index by the codec above it.
    const typed = entries.map((entry, at) => {
      return { ...entry, type: typeof steps[at] === 'number' ? t.UnknownArray : t.UnknownRecord }
    })
    return { value: undefined, context: [...context.slice(0, -1), ...typed], message }
  })

/** One look at one input, of which parts are copied. */
export interface Copying {
  readonly findings: Finding[]
  /** The way down to the value that is copied. */
  readonly path: Key[]
  readonly parents: object[]
  /** How deep a part stands in the event, which is the first level. */
  readonly level: number
  /** How many more values the input may hold. */
  room: number
}

export const newCopying = (level = 1, room: number = Limits.values): Copying => {
  return { findings: [], path: [], parents: [], level, room }
}

/** Adds a finding at the place of the copy. Answers undefined, the value of the copy there. */
const find = ({ findings, path }: Copying, message: string): Json | undefined => {
  if (findings.length < Limits.findings) findings.push({ steps: [...path], message })
  return undefined
}

const takeRoom = (copying: Copying, count: number): void => {
  copying.room -= count
  if (copying.room < 0) throw new RangeError('too many values')
}

const copyArray = (copying: Copying, array: ReadonlyArray<unknown>): Json => {
  takeRoom(copying, array.length)
  const copied: Json[] = []
  for (let index = 0; index < array.length; index++) {
    copying.path.push(index)
    // JSON writes null in an array for a value that it leaves out of an object.
    copied.push(copyValue(copying, array[index]) ?? null)
    copying.path.pop()
  }
  return copied
}

export const PROTO_KEY = 'is a key that receivers refuse: rename it'

const copyRecord = (copying: Copying, record: object): Json => {
  const keys = Object.keys(record)
  takeRoom(copying, keys.length)
  const copied: Record<string, Json> = {}
  for (const key of keys) {
    copying.path.push(key)
    // Sound for every object: the member stays unknown.
    const member = (record as Fields)[key]
    const json = key === '__proto__' ? find(copying, PROTO_KEY) : copyValue(copying, member)
    if (json !== undefined) copied[key] = json
    copying.path.pop()
  }
  return copied
}

const isOrdinary = (it: object) => Array.isArray(it) || Object.getPrototypeOf(it) === Object.prototype

/** Whether JSON would write `{}` for an object of a class. `Object.prototype` of any realm has none above. */
const isOpaque = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return (
    typeof prototype === 'object' &&
    prototype !== null &&
    Object.getPrototypeOf(prototype) !== null &&
    Object.keys(value).length === 0 &&
    !hasToJson(value) &&
    !isBoxedPrimitive(value)
  )
}

/** Why JSON cannot hold an object; undefined if it can. */
const whyUnfit = (value: object): string | undefined => {
  if (isPromiseLike(value)) {
    ignoreRejection(value)
    return 'is a promise, which JSON cannot hold: use enrich, which waits for it'
  }
  if (isOrdinary(value)) return undefined
  if (ArrayBuffer.isView(value) || isAnyArrayBuffer(value))
    return 'is binary data: write it as text, such as base64'
  if (isMap(value)) return 'is a Map, which JSON cannot hold: use Object.fromEntries'
  if (isSet(value)) return 'is a Set, which JSON cannot hold: use an array'
  if (isDate(value) && Number.isNaN(value.getTime())) return 'is an invalid Date'
  return isOpaque(value) ? 'has no fields, so JSON would write {}: give a plain object, or toJSON' : undefined
}

export const hasToJson = (value: object): value is { readonly toJSON: (key: string) => unknown } =>
  'toJSON' in value && typeof value.toJSON === 'function'

/** Writes the answer of an object's `toJSON`, as `JSON.stringify` does. */
const copyObject = (copying: Copying, value: object): Json | undefined => {
  const { level, parents, path } = copying
  if (level + parents.length >= Limits.nesting)
    return find(copying, `is nested deeper than ${String(Limits.nesting)} levels: flatten it`)
  const unfit = whyUnfit(value)
  if (unfit !== undefined) return find(copying, unfit)
  let meant: unknown = value
  if (hasToJson(value)) meant = value.toJSON(String(path.at(-1) ?? ''))
  else if (!isOrdinary(value) && isBoxedPrimitive(value)) meant = value.valueOf()
  if (typeof meant !== 'object' || meant === null) return copyValue(copying, meant)
  const problem = parents.includes(meant) ? 'contains itself: JSON has no cycles' : whyUnfit(meant)
  if (problem !== undefined) return find(copying, problem)
  parents.push(meant)
  const copied = Array.isArray(meant) ? copyArray(copying, meant) : copyRecord(copying, meant)
  parents.pop()
  return copied
}

const copyValue = (copying: Copying, value: unknown): Json | undefined => {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      // Adding 0 turns -0 into 0, as JSON writes it.
      return Number.isFinite(value) ? value + 0 : find(copying, 'is NaN or infinite: JSON has no such number')
    case 'bigint':
      return find(copying, 'is a BigInt: write it as a string')
    case 'object':
      return value === null ? null : copyObject(copying, value)
    default:
      return undefined
  }
}

export const UNREADABLE = 'could not be read: looking at it throws an error'
const TOO_MANY = 'holds too many values: send less with the event'

/**
 * A copy of a value as plain JSON data, equal to parsing its JSON text. Like `JSON.stringify` it leaves out
 * undefined, functions and symbols. Any silent change of JSON is a finding. Never throws: the copy ends where
 * a getter throws.
 */
export const copyJson = (copying: Copying, value: unknown, field?: Key): Json | undefined => {
  if (field !== undefined) copying.path.push(field)
  let copied: Json | undefined
  try {
    copied = copyValue(copying, value)
  } catch {
    if (copying.room >= 0) find(copying, UNREADABLE)
    else copying.findings.push({ steps: [], message: TOO_MANY })
  }
  copying.path.length = 0
  copying.parents.length = 0
  return copied
}

const isJsonObject = (value: unknown): value is JsonObject => isRecord(value) && isJson(value)

/** A codec for an object of JSON data. Decoding copies it. */
export const JsonObject = new t.RefinementType<typeof t.UnknownRecord, JsonObject, JsonObject, unknown>(
  'JsonObject',
  isJsonObject,
  (value, context) => {
    const copying = newCopying()
    const { findings } = copying
    const copied = copyJson(copying, value)
    if (findings.length === 0 && isRecord(copied)) return t.success(copied)
    if (findings.length === 0) find(copying, `must be an object, not ${kindOf(value)}`)
    return t.failures(toErrors(findings, context))
  },
  t.identity,
  t.UnknownRecord,
  isJsonObject,
)
