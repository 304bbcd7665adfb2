import { left } from 'fp-ts/lib/Either.js'
import { refused, partlyFailed } from '../core/failure.ts'
import type { Receipt, Refused, Verdict } from '../core/failure.ts'
import { isRecord } from '../core/json.ts'
import type { Fields } from '../core/json.ts'
import type { Payload } from '../event/payload.ts'
import { oneLine } from '../log/debug.ts'

const MAX_DETAIL = 200

const parsed = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

const firstText = (...values: ReadonlyArray<unknown>): string | undefined =>
  values.find((value) => typeof value === 'string')

const reasonOf = (error: unknown): string | undefined =>
  isRecord(error) ? firstText(error['reason'], error['error'], error['message']) : firstText(error)

/** The errors of a body with their keys: a list, or an object by message id or by position. */
const errorsOf = ({ errors }: Fields): ReadonlyArray<readonly [key: string | undefined, error: unknown]> => {
  if (Array.isArray(errors)) return errors.map((error: unknown) => [undefined, error])
  return isRecord(errors) ? Object.entries(errors) : []
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
const positionsOf = (
  key: string | undefined,
  error: unknown,
  ids: ReadonlyArray<string>,
): ReadonlyArray<number> => {
  const { index, messageId, message_id: snake }: Fields = isRecord(error) ? error : {}
  const byIndex = positionIn(ids.length, index)
  if (byIndex.length > 0) return byIndex
  const id = firstText(messageId, snake, key)
  const byId = ids.flatMap((each, at) => (each === id ? [at] : []))
  return byId.length > 0 ? byId : positionIn(ids.length, key)
}

/** A verdict by status, after the answer's body was read. */
export type Judge = (verdict: Verdict, body: Buffer, payload: Payload<unknown>) => Verdict

/**
 * A JSON body with `"ok":false` changes a status that says delivered: the messages that it names are refused, each with its reason, or
 * all of them if it names none or has `okEvents: 0`. If `okEvents` does not match the names, the refusals say so. The text of another
 * body is the detail of a refusal. A receiver may repeat the request, so the write key is replaced before a text is cut.
 */
export const judging = (writeKey: string, credentials: string): Judge => {
  const forms = [credentials, JSON.stringify(writeKey).slice(1, -1), encodeURIComponent(writeKey), writeKey]

  const detailOf = (text: string): string | undefined => {
    const redacted = forms.reduce((rest, form) => rest.replaceAll(form, '[write key]'), text)
    const clean = oneLine(redacted.trim())
    if (clean === '') return undefined
    return clean.length > MAX_DETAIL ? `${clean.slice(0, MAX_DETAIL)}…` : clean
  }

  const judgeDelivered = (
    delivered: Verdict,
    { status }: Receipt,
    said: Fields,
    payload: Payload<unknown>,
  ): Verdict => {
    const ids = payload.members?.map(({ id }) => id) ?? [payload.id]
    const named = new Map<number, string | undefined>()
    for (const [key, error] of errorsOf(said))
      for (const at of positionsOf(key, error, ids)) named.set(at, reasonOf(error))
    const { okEvents: given } = said
    const [okEvents] = typeof given === 'number' ? positionIn(ids.length + 1, given) : []
    const disagrees = named.size > 0 && okEvents !== undefined && ids.length - okEvents !== named.size
    const doubt = disagrees
      ? `; the receiver says that it took ${String(okEvents)} of ${String(ids.length)}, and names ${String(named.size)} that it did not`
      : ''
    const refusal = (reason: string | undefined): Refused => {
      const detail = (detailOf(reason ?? '') ?? 'the receiver says that it did not take it') + doubt
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

  return (verdict, body, payload) => {
    if (verdict._tag === 'Left') {
      const detail =
        verdict.left._tag === 'Refused' && verdict.left.reason === 'status' && detailOf(body.toString())
      return typeof detail === 'string' ? left({ ...verdict.left, detail }) : verdict
    }
    const said = body.includes('false') ? parsed(body) : undefined
    return isRecord(said) && said['ok'] === false
      ? judgeDelivered(verdict, verdict.right, said, payload)
      : verdict
  }
}
