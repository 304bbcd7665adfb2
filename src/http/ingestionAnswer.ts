import { left } from 'fp-ts/lib/Either.js'
import type { Right } from 'fp-ts/lib/Either.js'
import { refused, partlyFailed } from '../core/failure.ts'
import type { Receipt, Verdict } from '../core/failure.ts'
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

/** Jitsu's errors are texts, such as `Message ID: m1: event is too large`. */
const TEXT_WITH_ID = /^Message ID: (.*?): /

/** What an error of a batch of `count` names: a message by its index, else the messages that have an id. */
const nameIn = (error: unknown, count: number): number | string | undefined => {
  if (typeof error === 'string') return TEXT_WITH_ID.exec(error)?.[1]
  const { index, messageId, message_id: snake }: Fields = isRecord(error) ? error : {}
  if (typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < count) return index
  return firstText(messageId, snake)
}

/** What each error names, and the error. They are a list, or an object by message id. */
const namedErrors = (errors: unknown, ids: ReadonlyArray<string>): ReadonlyMap<number | string, unknown> => {
  const known = new Set(ids)
  const named = new Map<number | string, unknown>()
  const add = (name: number | string | undefined, error: unknown): void => {
    if (typeof name === 'number' || (name !== undefined && known.has(name))) named.set(name, error)
  }
  if (Array.isArray(errors)) for (const error of errors) add(nameIn(error, ids.length), error)
  else if (isRecord(errors)) for (const [id, error] of Object.entries(errors)) add(id, error)
  return named
}

/**
 * The verdict by status, after the answer's body was read. A JSON body with `"ok":false` changes a status that says delivered: the messages
 * that it names are refused, each with its reason, or all of them if it names none or has `okEvents: 0`. The text of another body is the
 * detail of a refusal. A receiver may repeat the request, so the write key is replaced before a text is cut.
 */
export const judging = (writeKey: string, credentials: string) => {
  const forms = [credentials, JSON.stringify(writeKey).slice(1, -1), encodeURIComponent(writeKey), writeKey]

  const detailOf = (text: string): string | undefined => {
    const redacted = forms.reduce((rest, form) => rest.replaceAll(form, '[write key]'), text)
    const clean = oneLine(redacted.trim())
    if (clean === '') return undefined
    return clean.length > MAX_DETAIL ? `${clean.slice(0, MAX_DETAIL)}…` : clean
  }

  const judgeDelivered = (delivered: Right<Receipt>, said: Fields, payload: Payload<unknown>): Verdict => {
    const { status } = delivered.right
    const ids = payload.members?.map(({ id }) => id) ?? [payload.id]
    const refusal = (error: unknown): Verdict => {
      const detail = detailOf(reasonOf(error) ?? '') ?? 'the receiver says that it did not take it'
      return left(refused('rejected', status === undefined ? { detail } : { status, detail }))
    }
    const errors = namedErrors(said['errors'], ids)
    if (errors.size === 0) return refusal(said)
    // One verdict for each error: several messages may have its id.
    const named = new Map([...errors].map(([name, error]) => [name, refusal(error)]))
    const others = said['okEvents'] === 0 ? refusal(said) : delivered
    const verdicts = ids.map((id, at) => named.get(at) ?? named.get(id) ?? others)
    const [first] = verdicts
    return first !== undefined && verdicts.length === 1 ? first : left(partlyFailed(verdicts))
  }

  return (verdict: Verdict, body: Buffer, payload: Payload<unknown>): Verdict => {
    if (verdict._tag === 'Left') {
      const isStatus = verdict.left._tag === 'Refused' && verdict.left.reason === 'status'
      const detail = isStatus ? detailOf(body.toString()) : undefined
      return detail === undefined ? verdict : left({ ...verdict.left, detail })
    }
    const said = body.includes('false') ? parsed(body) : undefined
    return isRecord(said) && said['ok'] === false ? judgeDelivered(verdict, said, payload) : verdict
  }
}
