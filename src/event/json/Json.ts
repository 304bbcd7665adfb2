/**
 * Plain JSON data: what `JSON.stringify` writes and `JSON.parse` gives back without loss.
 *
 * @module
 */
import * as Limits from '../Limits.ts'
import type { Finding } from './Finding.ts'

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
