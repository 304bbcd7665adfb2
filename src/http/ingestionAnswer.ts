/**
 * What a batch endpoint says in the body of its answer: decisions only. A 200 that says no is a no (CL4).
 *
 * @module
 */

import { left } from 'fp-ts/lib/Either.js'
import { refused, partlyFailed } from '../core/failure.ts'
import type { Refused, Verdict } from '../core/failure.ts'
import type { Payload } from '../event/payload.ts'
import { oneLine } from '../log/logger.ts'

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

const PLACE = /^\d+$/

/** A place in a batch of so many, as a number or in digits. */
const placeIn = (count: number, value: unknown): ReadonlyArray<number> => {
  const place = typeof value === 'string' && PLACE.test(value) ? Number(value) : value
  return typeof place === 'number' && Number.isInteger(place) && place >= 0 && place < count ? [place] : []
}

/**
 * The positions that an error names: by its index, else by message id, of which a batch may hold several. The key of an error is a
 * place if it has digits and no message has it for its id.
 */
const positionsOf = (key: unknown, error: unknown, ids: ReadonlyArray<string>): ReadonlyArray<number> => {
  const { index, messageId, message_id: snake }: Fields = isFields(error) ? error : {}
  const byIndex = placeIn(ids.length, index)
  if (byIndex.length > 0) return byIndex
  const id = firstText(messageId, snake, key)
  const byId = ids.flatMap((each, at) => (each === id ? [at] : []))
  return byId.length > 0 ? byId : placeIn(ids.length, key)
}

/** How many it says that it took, if that can be. */
const takenOf = ({ okEvents }: Fields, count: number): number | undefined =>
  typeof okEvents === 'number' && Number.isInteger(okEvents) && okEvents >= 0 && okEvents <= count
    ? okEvents
    : undefined

const SAYS_NO = 'false'

/**
 * The verdict on an answer whose status says delivered. Its body takes that back if it is JSON that says `"ok":false`: then the
 * messages that it names are refused, each with the reason that it gives, and all of them if it names none, or says that it took none
 * (`okEvents`). Where it took another number than it names, the refusals say so. Any other body changes nothing.
 */
export const judged = (taken: Verdict, body: Buffer, payload: Payload<unknown>, redact: Redact): Verdict => {
  if (taken._tag === 'Left' || !body.includes(SAYS_NO)) return taken
  const said = parsed(body)
  if (!isFields(said) || said['ok'] !== false) return taken
  const { status } = taken.right
  const ids = payload.members?.map(({ id }) => id) ?? [payload.id]
  const named = new Map<number, string | undefined>()
  for (const { key, error } of errorsOf(said)) {
    for (const at of positionsOf(key, error, ids)) named.set(at, reasonOf(error))
  }
  const okEvents = takenOf(said, ids.length)
  const disagrees = named.size > 0 && okEvents !== undefined && ids.length - okEvents !== named.size
  const doubt = disagrees
    ? `; the receiver says that it took ${String(okEvents)} of ${String(ids.length)}, and names ${String(named.size)} that it did not`
    : ''
  const no = (reason: string | undefined): Refused => {
    const detail = (detailOf(reason ?? '', redact) ?? 'the receiver says that it did not take it') + doubt
    return refused('rejected', status === undefined ? { detail } : { status, detail })
  }
  if (named.size === 0) return left(no(reasonOf(said)))
  if (ids.length === 1) return left(no(named.get(0)))
  return left(
    partlyFailed(
      ids.map((_, at) => {
        if (named.has(at)) return left(no(named.get(at)))
        return okEvents === 0 ? left(no(reasonOf(said))) : taken
      }),
    ),
  )
}

/** A refusal, with what the receiver says of it. */
export const explained = (refusal: Refused, body: Buffer, redact: Redact): Verdict => {
  const detail = detailOf(body.toString(), redact)
  return left(detail === undefined ? refusal : { ...refusal, detail })
}
