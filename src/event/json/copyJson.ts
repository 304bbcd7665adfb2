import * as Limits from '../Limits.ts'
import type { Step, Trail } from './Finding.ts'
import { stepsOf } from './Finding.ts'
import { hasToJson } from './Json.ts'
import type { Inspection, Json, JsonObject } from './Json.ts'

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
