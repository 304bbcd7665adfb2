/**
 * Plain JSON data: what `JSON.stringify` writes and `JSON.parse` gives back without loss.
 *
 * @module
 */

import * as Limits from './limits.ts'
import * as t from 'io-ts'

/** JSON data. Numbers are finite, and never -0, which JSON text written by `JSON.stringify` does not have. */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | JsonObject

/** An object of JSON data. */
export interface JsonObject {
  readonly [key: string]: Json
}

/** One look at one input: what was found so far, and how many values it may still hold. */
export interface Inspection {
  readonly findings: Finding[]
  left: number
}

/** A look that has found nothing yet. */
export const inspection = (): Inspection => ({ findings: [], left: Limits.values })

/** Whether an object stands for something else, as `JSON.stringify` sees it. */
export const hasToJson = (value: object): value is { readonly toJSON: (key: string) => unknown } =>
  'toJSON' in value && typeof value.toJSON === 'function'

const isPlain = (value: unknown, depth: number, look: Inspection): boolean => {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
    case 'object':
      return value === null || (depth < Limits.nesting && hasPlainMembers(value, depth + 1, look))
    default:
      return false
  }
}

const hasPlainMembers = (value: object, depth: number, look: Inspection): boolean => {
  if (Array.isArray(value)) {
    look.left -= value.length
    if (look.left < 0) return false
    for (const member of value) if (!isPlain(member, depth, look)) return false
    return true
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return false
  // Not `Object.keys`, whose list was felt (0.2 of 0.95 µs for a call of 1 KB): should every object have been given a member, that one is looked at too.
  for (const key in value) {
    if (--look.left < 0) return false
    // Sound for every object: it is read by a key that it has, and what stands there stays unknown.
    if (key === '__proto__' || !isPlain((value as Readonly<Record<string, unknown>>)[key], depth, look))
      return false
  }
  return true
}

/**
 * Whether a value is plain JSON data already, so that it need not be copied if nobody else holds it: plain objects and arrays,
 * no `__proto__` key, not too deep, not too many values. Never throws.
 *
 * @param depth how many objects and arrays it stands in, itself not counted
 */
export const isJson = (value: unknown, depth = 0): value is Json => {
  try {
    return isPlain(value, depth, inspection())
  } catch {
    return false
  }
}

/** A step into an object (a key) or into an array (a position). */
export type Step = string | number

/** One thing wrong in one place. */
export interface Finding {
  readonly steps: ReadonlyArray<Step>
  readonly message: string
}

/** The way down to an object, linked upwards: going one level deeper costs one small object and copies nothing. */
export interface Trail {
  readonly up: Trail | undefined
  readonly step: Step
  /** What stands there; it is how a cycle is seen. */
  readonly value: object
}

/** The steps of a trail, outermost first, with one more at the end. */
export const stepsOf = (trail: Trail | undefined, last?: Step): ReadonlyArray<Step> => {
  const steps: Step[] = last === undefined ? [] : [last]
  for (let at = trail; at !== undefined; at = at.up) steps.push(at.step)
  return steps.reverse()
}

const PLAIN_KEY = /^[\p{L}\p{N}_$ -]+$/u
const LONGEST_KEY = 60
const LONGEST_PATH = 12

const showStep = (step: Step): string => {
  if (typeof step === 'number') return `[${String(step)}]`
  const shown = step.length > LONGEST_KEY ? `${step.slice(0, LONGEST_KEY)}…` : step
  return PLAIN_KEY.test(step) ? `.${shown}` : `[${JSON.stringify(shown)}]`
}

/** A path for people: `properties.list[3].url`; keys that would be misread are quoted, very long paths lose their middle. */
export const showPath = (steps: ReadonlyArray<Step>): string => {
  const half = LONGEST_PATH / 2
  const path =
    steps.length > LONGEST_PATH
      ? [...steps.slice(0, half).map(showStep), '.…', ...steps.slice(-half).map(showStep)].join('')
      : steps.map(showStep).join('')
  return path.startsWith('.') ? path.slice(1) : path
}

/** The findings as io-ts knows errors, so that our codecs can stand inside codecs of a host. They hold no values. */
export const toErrors = (findings: ReadonlyArray<Finding>, context: t.Context): t.Errors =>
  findings.map(({ steps, message }) => ({
    value: undefined,
    context: [
      ...context,
      ...steps.map((step, index) => ({
        key: String(step),
        type: typeof steps[index + 1] === 'number' ? t.UnknownArray : t.UnknownRecord,
      })),
    ],
    message,
  }))

const UNREADABLE = 'could not be read: looking at it throws an error'
const CYCLE = 'contains itself: JSON has no cycles'
const TOO_DEEP = `is nested deeper than ${String(Limits.nesting)} levels: flatten it`

/** Ends the look: whatever comes now is neither copied nor complained about. */
const giveUp = (look: Inspection, message: string): void => {
  look.left = -1
  look.findings.push({ steps: [], message })
}

/** Notes what is wrong there; in its place stands nothing. */
const find = (look: Inspection, up: Trail | undefined, step: Step, message: string): Json | undefined => {
  if (look.left < 0) return undefined
  if (look.findings.length < Limits.findings) look.findings.push({ steps: stepsOf(up, step), message })
  else giveUp(look, `has more than ${String(Limits.findings)} faults: only the first ones are named`)
  return undefined
}

/** Takes room for that many values; says so once when there is none. */
const takeRoom = (look: Inspection, count: number): boolean => {
  if (look.left < 0) return false
  look.left -= count
  if (look.left >= 0) return true
  giveUp(look, `holds more than ${String(Limits.values)} values: send less with the event`)
  return false
}

const contains = (trail: Trail | undefined, value: object): boolean => {
  for (let at = trail; at !== undefined; at = at.up) if (at.value === value) return true
  return false
}

const copyArray = (
  array: ReadonlyArray<unknown>,
  trail: Trail,
  depth: number,
  look: Inspection,
): ReadonlyArray<Json> => {
  const copied: Json[] = []
  if (!takeRoom(look, array.length)) return copied
  for (let index = 0; index < array.length; index++) {
    let member: unknown
    try {
      member = array[index]
    } catch {
      find(look, trail, index, UNREADABLE)
    }
    // What JSON leaves out of an object it writes as null in an array.
    copied.push(copyJson(member, index, trail, depth, look) ?? null)
  }
  return copied
}

const copyRecord = (record: object, trail: Trail, depth: number, look: Inspection): JsonObject => {
  const copied: Record<string, Json> = {}
  const keys = Object.keys(record)
  if (!takeRoom(look, keys.length)) return copied
  for (const key of keys) {
    if (key === '__proto__') {
      find(look, trail, key, 'is a key that receivers refuse: rename it')
      continue
    }
    let member: unknown
    try {
      // Sound for every object: it is read by a key of its own, and what stands there stays unknown.
      member = (record as Readonly<Record<string, unknown>>)[key]
    } catch {
      find(look, trail, key, UNREADABLE)
    }
    const json = copyJson(member, key, trail, depth, look)
    if (json !== undefined) copied[key] = json
  }
  return copied
}

const copyMembers = (
  value: object,
  step: Step,
  up: Trail | undefined,
  depth: number,
  look: Inspection,
): Json => {
  const trail = { up, step, value }
  return Array.isArray(value)
    ? copyArray(value, trail, depth + 1, look)
    : copyRecord(value, trail, depth + 1, look)
}

const isBinary = (value: object): boolean =>
  ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer

/** Why JSON cannot hold what is meant by an object, even if it has a `toJSON`; undefined if it can. */
const unfit = (value: object): string | undefined => {
  if (isBinary(value)) return 'is binary data: write it as text, such as base64'
  return value instanceof Date && Number.isNaN(value.getTime()) ? 'is an invalid Date' : undefined
}

/** Why JSON would lose an object that it knows no better than by its keys; undefined if it would not. */
const lossy = (value: object): string | undefined => {
  if (value instanceof Map) return 'is a Map, which JSON cannot hold: use Object.fromEntries'
  return value instanceof Set ? 'is a Set, which JSON cannot hold: use an array' : unfit(value)
}

const isBoxed = (value: object): boolean =>
  value instanceof String || value instanceof Number || value instanceof Boolean || value instanceof BigInt

/** An object with a `toJSON` or a prototype of its own. It is written as what it stands for, as `JSON.stringify` does. */
const copyUnusual = (
  value: object,
  step: Step,
  up: Trail | undefined,
  depth: number,
  look: Inspection,
): Json | undefined => {
  const wrong = unfit(value)
  if (wrong !== undefined) return find(look, up, step, wrong)
  let meant: unknown = value
  if (hasToJson(value)) {
    try {
      meant = value.toJSON(String(step))
    } catch {
      return find(look, up, step, 'has a toJSON that throws an error')
    }
  }
  if (typeof meant !== 'object' || meant === null) return copyJson(meant, step, up, depth, look)
  if (isBoxed(meant)) return copyJson(meant.valueOf(), step, up, depth, look)
  if (meant !== value && contains(up, meant)) return find(look, up, step, CYCLE)
  const loss = lossy(meant)
  return loss === undefined ? copyMembers(meant, step, up, depth, look) : find(look, up, step, loss)
}

const isUnusual = (value: object): boolean => {
  if (hasToJson(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype !== Object.prototype && prototype !== null && !Array.isArray(value)
}

/**
 * A copy of a value as plain JSON data, equal to what parsing its JSON text would give. Like `JSON.stringify` it leaves out
 * what is undefined, a function or a symbol; everything that JSON would silently change is a finding (EV9). It never throws.
 *
 * @param step where it stands in what `up` leads to
 * @param depth how many objects and arrays it stands in, itself not counted
 */
export const copyJson = (
  value: unknown,
  step: Step,
  up: Trail | undefined,
  depth: number,
  look: Inspection,
): Json | undefined => {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      // Adding 0 turns -0 into 0, which is how JSON writes it.
      return Number.isFinite(value)
        ? value + 0
        : find(look, up, step, 'is NaN or infinite: JSON has no such number')
    case 'bigint':
      return find(look, up, step, 'is a BigInt: write it as a string')
    case 'object':
      return value === null ? null : copyObject(value, step, up, depth, look)
    default:
      return undefined
  }
}

const copyObject = (
  value: object,
  step: Step,
  up: Trail | undefined,
  depth: number,
  look: Inspection,
): Json | undefined => {
  if (contains(up, value)) return find(look, up, step, CYCLE)
  if (depth >= Limits.nesting) return find(look, up, step, TOO_DEEP)
  try {
    return isUnusual(value)
      ? copyUnusual(value, step, up, depth, look)
      : copyMembers(value, step, up, depth, look)
  } catch {
    return find(look, up, step, UNREADABLE)
  }
}
