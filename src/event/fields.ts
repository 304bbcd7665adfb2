/**
 * The members of one event in one of its forms (a call, a webhook body, the model), read one by one. A member that is wrong becomes something
 * harmless, so that all faults are found at once; the event is dropped when there are findings.
 *
 * @module
 */

import { isRecord, kindOf } from '../core/json.ts'
import { copyJson, isJson, stepsOf } from './json.ts'
import type { JsonObject, Look, Step } from './json.ts'
import type * as Kinds from './kinds.ts'
import type { Integrations } from './kinds.ts'
import * as Limits from './limits.ts'
import { notATimestamp, toTimestamp } from './timestamp.ts'

const noFields = (): Record<Field, unknown> => ({
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

/** The name of a member in the model. */
export type Field =
  | 'type'
  | 'userId'
  | 'anonymousId'
  | 'previousId'
  | 'groupId'
  | 'event'
  | 'name'
  | 'category'
  | 'properties'
  | 'traits'
  | 'context'
  | 'timestamp'
  | 'messageId'
  | 'integrations'

/** One form of an event. */
export interface Form {
  /** The member that stands under a key. Other keys are ignored. */
  readonly fields: ReadonlyMap<string, Field>
  /** The timestamp of an event that has none; undefined: it must have one. */
  readonly timestamp?: () => string | undefined
  /** The id of an event that has none; undefined: it must have one. */
  readonly messageId?: () => string
  /** Whether `context`, `properties` and `traits` must be there; else what is missing is empty. */
  readonly complete: boolean
  /** Whether a page must have a userId; else an anonymousId is enough. */
  readonly pageNeedsUserId: boolean
  /** Whether only we hold the input, so that plain JSON data in it need not be copied. */
  readonly owned: boolean
}

/** One event while it is decoded. */
export interface Reading extends Look {
  readonly form: Form
  readonly fields: Record<Field, unknown>
  /** The event that the fields make; undefined if its kind is unknown or the input cannot be read. Of no use with findings. */
  event: DecodedEvent | undefined
}

/** A delete has its message id beside the body. */
export type DecodedEvent = Exclude<Kinds.Event, Kinds.Delete> | Kinds.ForwardedDelete

/** The keys of the model, each for the member of the same name. */
export const modelFields: ReadonlyMap<string, Field> = new Map(
  // `Object.keys` widens the type of the keys.
  (Object.keys(noFields()) as Field[]).map((field) => [field, field]),
)

const labelOf = ({ form }: Reading, field: Field): string => {
  if (form.fields.get(field) === field) return field
  for (const [key, held] of form.fields) if (held === field) return key
  return field
}

export const fault = (
  reading: Reading,
  field: Field,
  message: string,
  ...below: ReadonlyArray<Step>
): void => {
  reading.findings.push({ steps: [labelOf(reading, field), ...below], message })
}

/** A string; undefined if it is absent or something else. */
export const optionalText = (reading: Reading, field: Field): string | undefined => {
  const value = reading.fields[field]
  if (typeof value === 'string') return value
  if (value !== undefined) fault(reading, field, `must be a string, not ${kindOf(value)}`)
  return undefined
}

/** An id: `""` counts as absent, and a number is never turned into a string. */
export const optionalId = (reading: Reading, field: Field): string | undefined => {
  const text = optionalText(reading, field)
  return text === '' ? undefined : text
}

export const requiredId = (reading: Reading, field: Field): string => {
  const text = optionalText(reading, field)
  if (text !== undefined && text !== '') return text
  if (text === '' || reading.fields[field] === undefined)
    fault(reading, field, 'is missing: it must be a string that is not empty')
  return ''
}

export const timestampOf = (reading: Reading): string => {
  const value = reading.fields.timestamp
  if (value === undefined && reading.form.timestamp !== undefined) {
    const now = reading.form.timestamp()
    if (now === undefined)
      fault(reading, 'timestamp', 'is missing, and the clock is outside the years 0000 to 9999')
    return now ?? ''
  }
  const found = toTimestamp(value)
  if (found === undefined) fault(reading, 'timestamp', notATimestamp(value))
  return found ?? ''
}

/** The message id; `""` counts as absent. */
export const messageIdOf = (reading: Reading): string => {
  const { messageId } = reading.form
  const id = messageId === undefined ? requiredId(reading, 'messageId') : optionalId(reading, 'messageId')
  if (id === undefined) return messageId?.() ?? ''
  if (id.length > Limits.messageIdLength)
    fault(reading, 'messageId', `must have at most ${String(Limits.messageIdLength)} characters`)
  return id
}

export const copyAt = <A>(reading: Reading, field: Field, copy: (look: Look, value: unknown) => A): A => {
  reading.path[reading.depth++] = labelOf(reading, field)
  const copied = copy(reading, reading.fields[field])
  reading.depth--
  return copied
}

const NOTHING: JsonObject = Object.freeze({})

/** An object of JSON data, copied unless it is ours; undefined if it is absent. */
export const optionalData = (reading: Reading, field: Field): JsonObject | undefined => {
  const value = reading.fields[field]
  if (value === undefined) return undefined
  if (reading.form.owned && isJson(value, 1) && isRecord(value)) return value
  const before = reading.findings.length
  const copied = copyAt(reading, field, copyJson)
  if (isRecord(copied)) return copied
  if (reading.findings.length === before) fault(reading, field, `must be an object, not ${kindOf(value)}`)
  return NOTHING
}

export const requiredData = (reading: Reading, field: Field): JsonObject => {
  const data = optionalData(reading, field)
  if (data !== undefined) return data
  if (reading.form.complete) fault(reading, field, 'is missing: it must be an object')
  return {}
}

/** The named members of an object must be strings if they are there. */
export const checkTexts = (
  reading: Reading,
  data: JsonObject,
  names: ReadonlyArray<string>,
  field: Field,
  ...below: ReadonlyArray<Step>
): void => {
  for (const name of names) {
    if (!Object.hasOwn(data, name) || typeof data[name] === 'string') continue
    fault(reading, field, `must be a string, not ${kindOf(data[name])}`, ...below, name)
  }
}

const isSwitch = (value: unknown): boolean => typeof value === 'boolean' || isRecord(value)

/** Whether a value is an integrations map that need not be copied. Never throws. */
export const isIntegrations = (value: unknown): value is Integrations => {
  try {
    return isJson(value, 1) && isRecord(value) && Object.values(value).every(isSwitch)
  } catch {
    // A getter may throw when it is read again.
    return false
  }
}

/** A copy of an integrations map; undefined with findings. */
export const copyIntegrations = (look: Look, value: unknown): Integrations | undefined => {
  const before = look.findings.length
  const copied = copyJson(look, value)
  if (look.findings.length > before) return undefined
  if (isIntegrations(copied)) return copied
  if (isRecord(copied)) {
    for (const [name, chosen] of Object.entries(copied)) {
      const message = `must be true, false or an object, not ${kindOf(chosen)}`
      if (!isSwitch(chosen)) look.findings.push({ steps: [...stepsOf(look), name], message })
    }
  } else {
    const wanted = 'an object of destination names, each true, false or an object'
    look.findings.push({ steps: stepsOf(look), message: `must be ${wanted}, not ${kindOf(value)}` })
  }
  return undefined
}

/** A reading of nothing yet. A literal: spreading a new look took 7 µs. */
export const newReading = (form: Form): Reading => ({
  findings: [],
  room: Limits.values,
  path: [],
  depth: 0,
  parents: [],
  form,
  fields: noFields(),
  event: undefined,
})
