/**
 * Plain JSON data: what `JSON.stringify` writes and `JSON.parse` gives back without loss.
 *
 * @module
 */

import * as t from 'io-ts'
import type { Fields } from '../core/json.ts'
import type { Fault } from '../core/refusal.ts'
import * as Limits from './limits.ts'

/** JSON data. Numbers are finite, and never -0, which `JSON.stringify` never writes. */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | JsonObject

/** An object of JSON data. */
export interface JsonObject {
  readonly [key: string]: Json
}

/** A step into an object (a key) or into an array (a position). */
export type Step = string | number

/** One thing that is wrong in one place. */
export interface Finding {
  readonly steps: ReadonlyArray<Step>
  readonly message: string
}

/** One look at one input. `path` and `parents` change while it goes down, so that a finding knows its place and a cycle is seen. */
export interface Look {
  readonly findings: Finding[]
  /** How many values the input may hold. */
  readonly maxValues: number
  /** How many more it may hold; below zero the look has ended. */
  room: number
  /** The steps from the input down to the value that is looked at. */
  readonly path: Step[]
  /** The objects that the value stands in, one for each step. */
  readonly parents: object[]
}

export const newLook = (maxValues: number = Limits.values): Look => ({
  findings: [],
  maxValues,
  room: maxValues,
  path: [],
  parents: [],
})

const isPlain = (value: unknown, depth: number, budget: { room: number }): boolean => {
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
    for (const member of value)
      if (typeof member !== 'string' && !isPlain(member, depth, budget)) return false
    return true
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return false
  // `Object.keys` makes a list: it took 0.2 of the 0.95 µs of a call of 1 KB.
  for (const key in value) {
    if (--budget.room < 0 || key === '__proto__') return false
    // Sound for every object: the member stays unknown.
    const member = (value as Fields)[key]
    // Most members are strings: no call for them saves 15 % of an event of 1 KB.
    if (typeof member !== 'string' && !isPlain(member, depth, budget)) return false
  }
  return true
}

/** Whether a value is plain JSON data already, inside an event or a body, so that it need not be copied if only we hold it. Never throws. */
export const isJson = (value: unknown): value is Json => {
  try {
    return isPlain(value, 1, { room: Limits.values })
  } catch {
    return false
  }
}

const PLAIN_KEY = /^[\p{L}\p{N}_$ -]+$/u
const MAX_KEY = 60
const MAX_STEPS = 12

const showStep = (step: Step): string => {
  if (typeof step === 'number') return `[${String(step)}]`
  const shown = step.length > MAX_KEY ? `${step.slice(0, MAX_KEY)}…` : step
  return PLAIN_KEY.test(step) ? `.${shown}` : `[${JSON.stringify(shown)}]`
}

/** A path for people: `properties.list[3].url`. Keys that could be misread are quoted; very long paths lose their middle. */
export const showPath = (steps: ReadonlyArray<Step>): string => {
  const shown = steps.map(showStep)
  if (steps.length > MAX_STEPS) shown.splice(MAX_STEPS / 2, steps.length - MAX_STEPS, '.…')
  return shown.join('').replace(/^\./, '')
}

export const toFaults = (findings: ReadonlyArray<Finding>): ReadonlyArray<Fault> =>
  findings.map(({ steps, message }) => ({ path: showPath(steps), message }))

/** The findings as io-ts errors, so that our codecs can stand inside codecs of a host. They hold no values. */
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

export const UNREADABLE = 'could not be read: looking at it throws an error'
export const PROTO_KEY = 'is a key that receivers refuse: rename it'

/** Ends the look: from now on nothing is copied, and nothing is found. */
const end = (look: Look, message: string): void => {
  look.room = -1
  look.findings.push({ steps: [], message })
}

/** Adds a finding at the place of the look. Answers undefined, which is what the copy has there. */
const find = (look: Look, message: string): Json | undefined => {
  if (look.room < 0) return undefined
  if (look.findings.length < Limits.findings) look.findings.push({ steps: [...look.path], message })
  else end(look, `has more than ${String(Limits.findings)} faults: only the first ones are named`)
  return undefined
}

/** Counts values; adds a finding the first time that there are too many. */
const takeRoom = (look: Look, count: number): boolean => {
  if (look.room < 0) return false
  look.room -= count
  if (look.room >= 0) return true
  end(look, `holds more than ${String(look.maxValues)} values: send less with the event`)
  return false
}

const copyArray = (look: Look, array: ReadonlyArray<unknown>): Json => {
  const copied: Json[] = []
  if (!takeRoom(look, array.length)) return copied
  for (let index = 0; index < array.length; index++) {
    look.path.push(index)
    // JSON writes null in an array for what it leaves out of an object.
    copied.push(copyJson(look, array[index]) ?? null)
    look.path.pop()
  }
  return copied
}

const copyRecord = (look: Look, record: object): Json => {
  const copied: Record<string, Json> = {}
  const keys = Object.keys(record)
  if (!takeRoom(look, keys.length)) return copied
  for (const key of keys) {
    look.path.push(key)
    // Sound for every object: the member stays unknown.
    const json = key === '__proto__' ? find(look, PROTO_KEY) : copyJson(look, (record as Fields)[key])
    if (json !== undefined) copied[key] = json
    look.path.pop()
  }
  return copied
}

/** Why JSON cannot hold what an object means; undefined if it can. */
const whyUnfit = (value: object): string | undefined => {
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer)
    return 'is binary data: write it as text, such as base64'
  if (value instanceof Map) return 'is a Map, which JSON cannot hold: use Object.fromEntries'
  if (value instanceof Set) return 'is a Set, which JSON cannot hold: use an array'
  return value instanceof Date && Number.isNaN(value.getTime()) ? 'is an invalid Date' : undefined
}

const isBoxed = (value: object): boolean =>
  value instanceof String || value instanceof Number || value instanceof Boolean || value instanceof BigInt

export const hasToJson = (value: object): value is { readonly toJSON: (key: string) => unknown } =>
  'toJSON' in value && typeof value.toJSON === 'function'

const CYCLE = 'contains itself: JSON has no cycles'

const copyMembers = (look: Look, value: object): Json | undefined => {
  const isArray = Array.isArray(value)
  if (!isArray && Object.getPrototypeOf(value) !== Object.prototype) {
    const unfit = whyUnfit(value)
    if (unfit !== undefined) return find(look, unfit)
    if (isBoxed(value)) return copyJson(look, value.valueOf())
  }
  look.parents.push(value)
  const copied = isArray ? copyArray(look, value) : copyRecord(look, value)
  look.parents.pop()
  return copied
}

/** An object is written as what its `toJSON` answers, as `JSON.stringify` does. */
const copyMeant = (look: Look, value: object): Json | undefined => {
  if (!hasToJson(value)) return copyMembers(look, value)
  const unfit = whyUnfit(value)
  if (unfit !== undefined) return find(look, unfit)
  const meant = value.toJSON(String(look.path.at(-1) ?? ''))
  if (typeof meant !== 'object' || meant === null) return copyJson(look, meant)
  return look.parents.includes(meant) ? find(look, CYCLE) : copyMembers(look, meant)
}

const copyObject = (look: Look, value: object): Json | undefined => {
  const { path, parents } = look
  const depth = path.length
  if (parents.includes(value)) return find(look, CYCLE)
  if (depth >= Limits.nesting)
    return find(look, `is nested deeper than ${String(Limits.nesting)} levels: flatten it`)
  try {
    return copyMeant(look, value)
  } catch {
    // The path still leads to the member that could not be read.
    find(look, UNREADABLE)
    path.length = depth
    parents.length = depth
    return undefined
  }
}

/**
 * A copy of a value as plain JSON data, equal to what parsing its JSON text would give. Like `JSON.stringify` it leaves out what is
 * undefined, a function or a symbol. What JSON would change silently is a finding. Never throws.
 */
export const copyJson = (look: Look, value: unknown): Json | undefined => {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      // Adding 0 turns -0 into 0, as JSON writes it.
      return Number.isFinite(value) ? value + 0 : find(look, 'is NaN or infinite: JSON has no such number')
    case 'bigint':
      return find(look, 'is a BigInt: write it as a string')
    case 'object':
      return value === null ? null : copyObject(look, value)
    default:
      return undefined
  }
}
