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

/** The positions in a batch that an error names: by its index, else by message id, which a batch may have several times. */
const positionsOf = (error: unknown, ids: ReadonlyArray<string>): ReadonlyArray<number> => {
  const { index, messageId, message_id: snake }: Fields = isRecord(error) ? error : {}
  if (typeof index === 'number' && index in ids) return [index]
  const id = firstText(messageId, snake)
  return ids.flatMap((each, at) => (each === id ? [at] : []))
}

/** A verdict by status, after the answer's body was read. */
export type Judge = (verdict: Verdict, body: Buffer, payload: Payload<unknown>) => Verdict

/**
 * A JSON body with `"ok":false` changes a status that says delivered: the messages that it names are refused, each with its reason, or
 * all of them if it names none or has `okEvents: 0`.  The text of another
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
    const errors: ReadonlyArray<unknown> = Array.isArray(said['errors']) ? said['errors'] : []
    for (const error of errors) for (const at of positionsOf(error, ids)) named.set(at, reasonOf(error))
    const refusal = (reason: string | undefined): Refused => {
      const detail = detailOf(reason ?? '') ?? 'the receiver says that it did not take it'
      return refused('rejected', status === undefined ? { detail } : { status, detail })
    }
    if (named.size === 0) return left(refusal(reasonOf(said)))
    if (ids.length === 1) return left(refusal(named.get(0)))
    return left(
      partlyFailed(
        ids.map((_, at) => {
          if (named.has(at)) return left(refusal(named.get(at)))
          return said['okEvents'] === 0 ? left(refusal(reasonOf(said))) : delivered
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
