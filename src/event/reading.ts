/**
 * One look at one event in one of its forms, field by field. A reader that finds something wrong says so in the
 * look's findings and gives back something harmless, so that every fault is found at once (EV7); whoever made the look
 * throws the result away when there are findings.
 *
 * @module
 */

import * as Limits from './limits.ts'
import { isRecord, kindOf } from '../core/json.ts'
import { copyJson, isJson } from './json.ts'
import type { Step, Inspection, JsonObject } from './json.ts'
import { notATimestamp, toTimestamp } from './timestamp.ts'

/** The members of an event by their names in the model, as they were found. Undefined is absent. */
export interface Fields {
  type: unknown
  userId: unknown
  anonymousId: unknown
  previousId: unknown
  groupId: unknown
  event: unknown
  name: unknown
  category: unknown
  properties: unknown
  traits: unknown
  context: unknown
  timestamp: unknown
  messageId: unknown
  integrations: unknown
}

/** The name of a member. */
export type Field = keyof Fields

/** How one form of an event is read. */
export interface Form {
  /** The member that a key of this form holds; undefined for keys that it does not know. */
  readonly fieldOf: (key: string) => Field | undefined
  /** What a member is called in this form. */
  readonly label: (field: Field) => string
  /** The timestamp of an event that brings none; undefined: it must bring one. */
  readonly timestamp: (() => string | undefined) | undefined
  /** The id of an event that brings none; undefined: it must bring one. */
  readonly messageId: (() => string) | undefined
  /** Whether `context`, `properties` and `traits` must be there; else what is missing is empty. */
  readonly complete: boolean
  /** Whether a page must have a userId, as the client demands; else an anonymousId will do (EV4). */
  readonly pageNeedsUserId: boolean
  /** Whether nobody else holds the input, so that plain JSON data in it need not be copied. */
  readonly owned: boolean
}

/** One look at one event. */
export interface Reading extends Inspection {
  readonly form: Form
  readonly fields: Fields
}

const noFields = (): Fields => ({
  type: undefined,
  userId: undefined,
  anonymousId: undefined,
  previousId: undefined,
  groupId: undefined,
  event: undefined,
  name: undefined,
  category: undefined,
  properties: undefined,
  traits: undefined,
  context: undefined,
  timestamp: undefined,
  messageId: undefined,
  integrations: undefined,
})

/** A look at nothing yet. */
export const reading = (form: Form): Reading => ({
  form,
  findings: [],
  left: Limits.values,
  fields: noFields(),
})

const FIELDS: ReadonlySet<string> = new Set(Object.keys(noFields()))

/** Whether a key is the name of a member. */
export const isField = (key: string): key is Field => FIELDS.has(key)

/** Notes a fault of a member, or of something inside it. */
export const fault = (look: Reading, field: Field, message: string, ...inside: ReadonlyArray<Step>): void => {
  look.findings.push({ steps: [look.form.label(field), ...inside], message })
}

/** A string; undefined if it is absent or none. */
export const optionalText = (look: Reading, field: Field): string | undefined => {
  const value = look.fields[field]
  if (typeof value === 'string') return value
  if (value !== undefined) fault(look, field, `must be a string, not ${kindOf(value)}`)
  return undefined
}

/** An id: `""` counts as absent, and a number is never turned into a string (EV7). */
export const optionalId = (look: Reading, field: Field): string | undefined => {
  const text = optionalText(look, field)
  return text === '' ? undefined : text
}

/** A string that must be there and not be empty. */
export const requiredId = (look: Reading, field: Field): string => {
  const text = optionalText(look, field)
  if (text !== undefined && text !== '') return text
  if (text === '' || look.fields[field] === undefined) {
    fault(look, field, 'is missing: it must be a string that is not empty')
  }
  return ''
}

/** The timestamp in its one form (EV5). */
export const timestampOf = (look: Reading): string => {
  const value = look.fields.timestamp
  if (value === undefined && look.form.timestamp !== undefined) {
    const now = look.form.timestamp()
    if (now === undefined)
      fault(look, 'timestamp', 'is missing, and the clock is outside the years 0000 to 9999')
    return now ?? ''
  }
  const found = toTimestamp(value)
  if (found === undefined) fault(look, 'timestamp', notATimestamp(value))
  return found ?? ''
}

/** The message id; `""` counts as absent (EV7). */
export const messageIdOf = (look: Reading): string => {
  const id = look.form.messageId === undefined ? requiredId(look, 'messageId') : optionalId(look, 'messageId')
  if (id === undefined) return look.form.messageId?.() ?? ''
  if (id.length > Limits.messageIdLength) {
    fault(look, 'messageId', `must have at most ${String(Limits.messageIdLength)} characters`)
  }
  return id
}

const NOTHING: JsonObject = Object.freeze({})

/** An object of JSON data, copied unless it is owned; undefined if it is absent. */
export const optionalData = (look: Reading, field: Field): JsonObject | undefined => {
  const value = look.fields[field]
  if (value === undefined) return undefined
  if (look.form.owned && isJson(value, 1) && isRecord(value)) return value
  const before = look.findings.length
  const copied = copyJson(value, look.form.label(field), undefined, 1, look)
  if (isRecord(copied)) return copied
  if (look.findings.length === before) fault(look, field, `must be an object, not ${kindOf(value)}`)
  return NOTHING
}

/** An object of JSON data; empty if nothing was given (EV2). */
export const dataOf = (look: Reading, field: Field): JsonObject => {
  const data = optionalData(look, field)
  if (data !== undefined) return data
  if (look.form.complete) fault(look, field, 'is missing: it must be an object')
  return {}
}

/** The named members of an object, when they are there, must be strings (EV3). */
export const namedTexts = (
  look: Reading,
  data: JsonObject,
  names: ReadonlyArray<string>,
  field: Field,
  ...inside: ReadonlyArray<Step>
): void => {
  for (const name of names) {
    if (!Object.hasOwn(data, name)) continue
    const value = data[name]
    if (typeof value !== 'string') {
      fault(look, field, `must be a string, not ${kindOf(value)}`, ...inside, name)
    }
  }
}
