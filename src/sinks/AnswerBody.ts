/**
 * What a batch endpoint says in the body of its answer: decisions only. A 200 that says no is a no (CL4).
 *
 * @module
 */
import { left } from 'fp-ts/lib/Either.js'
import type { Payload } from '../event/Payload.ts'
import { oneLine } from '../observe/oneLine.ts'
import type { Refused } from '../outcome/Failure.ts'
import { refused, someOf } from '../outcome/Failure.ts'
import type { Verdict } from '../outcome/Verdict.ts'

/** Takes out of a text what must not be shown. */
export type Redact = (text: string) => string

const LONGEST_DETAIL = 200

/** A receiver may repeat what it was sent: a key is taken out before anything is cut off, or a piece of it could stay. */
export const redacting = (writeKey: string, credentials: string): Redact => {
  const forms = [credentials, JSON.stringify(writeKey).slice(1, -1), encodeURIComponent(writeKey), writeKey]
  return (text) => forms.reduce((rest, form) => rest.replaceAll(form, '[write key]'), text)
}

const detailOf = (text: string, redact: Redact): string | undefined => {
  const clean = oneLine(redact(text).trim())
  if (clean === '') return undefined
  return clean.length > LONGEST_DETAIL ? `${clean.slice(0, LONGEST_DETAIL)}…` : clean
}

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null

const parsed = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

const firstText = (...values: ReadonlyArray<unknown>): string | undefined =>
  values.find((value) => typeof value === 'string')

const reasonOf = (error: unknown): string | undefined => {
  if (!isFields(error)) return firstText(error)
  return firstText(error['reason'], error['error'], error['message'])
}

/** The errors of a body, each with the place or the name of a message: a list, or an object by message id or place. */
const errorsOf = ({ errors }: Fields): ReadonlyArray<{ readonly key: unknown; readonly error: unknown }> => {
  if (Array.isArray(errors)) return errors.map((error: unknown) => ({ key: undefined, error }))
  return isFields(errors) ? Object.entries(errors).map(([key, error]) => ({ key, error })) : []
}

/** The positions that an error names: by its index, else by message id, of which a batch may hold several. */
const positionsOf = (key: unknown, error: unknown, ids: ReadonlyArray<string>): ReadonlyArray<number> => {
  const { index, messageId, message_id: snake }: Fields = isFields(error) ? error : {}
  if (typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < ids.length) return [index]
  const id = firstText(messageId, snake, key)
  return id === undefined ? [] : ids.flatMap((each, at) => (each === id ? [at] : []))
}

const SAYS_NO = 'false'

/**
 * The verdict on an answer whose status says delivered. Its body takes that back if it is JSON that says `"ok":false`: then the
 * messages that it names are refused, each with the reason that it gives, and all of them if it names none. Any other body changes
 * nothing.
 */
export const judged = (taken: Verdict, body: Buffer, payload: Payload<unknown>, redact: Redact): Verdict => {
  if (taken._tag === 'Left' || !body.includes(SAYS_NO)) return taken
  const said = parsed(body)
  if (!isFields(said) || said['ok'] !== false) return taken
  const { status } = taken.right
  const no = (reason: string | undefined): Refused => {
    const detail = detailOf(reason ?? '', redact) ?? 'the receiver says that it did not take it'
    return refused('rejected', status === undefined ? { detail } : { status, detail })
  }
  const ids = payload.members?.map(({ id }) => id) ?? [payload.id]
  const refusals = new Map<number, Verdict>()
  for (const { key, error } of errorsOf(said)) {
    for (const at of positionsOf(key, error, ids)) refusals.set(at, left(no(reasonOf(error))))
  }
  if (refusals.size === 0) return left(no(reasonOf(said)))
  if (ids.length === 1) return refusals.get(0) ?? taken
  return left(someOf(ids.map((_, at) => refusals.get(at) ?? taken)))
}

/** A refusal, with what the receiver says of it. */
export const explained = (refusal: Refused, body: Buffer, redact: Redact): Verdict => {
  const detail = detailOf(body.toString(), redact)
  return left(detail === undefined ? refusal : { ...refusal, detail })
}
