import { left } from 'fp-ts/lib/Either.js'
import { refused, partlyFailed } from '../core/failure.ts'
import type { Refused, Verdict } from '../core/failure.ts'
import type { Payload } from '../event/payload.ts'
import { oneLine } from '../log/debug.ts'

/** Replaces secrets in a text. */
export type Redact = (text: string) => string

const MAX_DETAIL = 200

/** A receiver may repeat the request: the key is replaced before the text is cut, or a part of it could stay. */
export const redacting = (writeKey: string, credentials: string): Redact => {
  const forms = [credentials, JSON.stringify(writeKey).slice(1, -1), encodeURIComponent(writeKey), writeKey]
  return (text) => forms.reduce((rest, form) => rest.replaceAll(form, '[write key]'), text)
}

const detailOf = (text: string, redact: Redact): string | undefined => {
  const clean = oneLine(redact(text).trim())
  if (clean === '') return undefined
  return clean.length > MAX_DETAIL ? `${clean.slice(0, MAX_DETAIL)}…` : clean
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

/** The errors of a body: a list, or an object by message id or by position. */
const errorsOf = ({ errors }: Fields): ReadonlyArray<{ readonly key: unknown; readonly error: unknown }> => {
  if (Array.isArray(errors)) return errors.map((error: unknown) => ({ key: undefined, error }))
  return isFields(errors) ? Object.entries(errors).map(([key, error]) => ({ key, error })) : []
}

/** A position in a batch of `count` messages, as a number or in digits. */
const positionIn = (count: number, value: unknown): ReadonlyArray<number> => {
  const at = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  return typeof at === 'number' && Number.isInteger(at) && at >= 0 && at < count ? [at] : []
}

/**
 * The positions that an error names: by its index, else by message id, which a batch may have several times. The key of an error is
 * a position if it is a number and no message has it as its id.
 */
const positionsOf = (key: unknown, error: unknown, ids: ReadonlyArray<string>): ReadonlyArray<number> => {
  const { index, messageId, message_id: snake }: Fields = isFields(error) ? error : {}
  const byIndex = positionIn(ids.length, index)
  if (byIndex.length > 0) return byIndex
  const id = firstText(messageId, snake, key)
  const byId = ids.flatMap((each, at) => (each === id ? [at] : []))
  return byId.length > 0 ? byId : positionIn(ids.length, key)
}

/** How many messages the receiver says it took, if that is possible. */
const okEventsOf = ({ okEvents }: Fields, count: number): number | undefined =>
  typeof okEvents === 'number' && Number.isInteger(okEvents) && okEvents >= 0 && okEvents <= count
    ? okEvents
    : undefined

/**
 * The verdict on an answer whose status says delivered. A JSON body with `"ok":false` changes it: the messages that it names are
 * refused, each with its reason, or all of them if it names none or has `okEvents: 0`. If `okEvents` does not match the names,
 * the refusals say so. Any other body changes nothing.
 */
export const judged = (
  delivered: Verdict,
  body: Buffer,
  payload: Payload<unknown>,
  redact: Redact,
): Verdict => {
  if (delivered._tag === 'Left' || !body.includes('false')) return delivered
  const said = parsed(body)
  if (!isFields(said) || said['ok'] !== false) return delivered
  const { status } = delivered.right
  const ids = payload.members?.map(({ id }) => id) ?? [payload.id]
  const named = new Map<number, string | undefined>()
  for (const { key, error } of errorsOf(said)) {
    for (const at of positionsOf(key, error, ids)) named.set(at, reasonOf(error))
  }
  const okEvents = okEventsOf(said, ids.length)
  const disagrees = named.size > 0 && okEvents !== undefined && ids.length - okEvents !== named.size
  const doubt = disagrees
    ? `; the receiver says that it took ${String(okEvents)} of ${String(ids.length)}, and names ${String(named.size)} that it did not`
    : ''
  const refusal = (reason: string | undefined): Refused => {
    const detail = (detailOf(reason ?? '', redact) ?? 'the receiver says that it did not take it') + doubt
    return refused('rejected', status === undefined ? { detail } : { status, detail })
  }
  if (named.size === 0) return left(refusal(reasonOf(said)))
  if (ids.length === 1) return left(refusal(named.get(0)))
  return left(
    partlyFailed(
      ids.map((_, at) => {
        if (named.has(at)) return left(refusal(named.get(at)))
        return okEvents === 0 ? left(refusal(reasonOf(said))) : delivered
      }),
    ),
  )
}

/** A refusal with the receiver's text as its detail. */
export const explained = (refusal: Refused, body: Buffer, redact: Redact): Verdict => {
  const detail = detailOf(body.toString(), redact)
  return left(detail === undefined ? refusal : { ...refusal, detail })
}
