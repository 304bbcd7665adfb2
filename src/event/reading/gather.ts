import { hasToJson } from '../json/Json.ts'
import { kindOf } from '../json/Finding.ts'
import type { Reading } from './Reading.ts'

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
