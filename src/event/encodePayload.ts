import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Fault, Refusal } from '../outcome/Refusal.ts'
import { invalid, tooLarge } from '../outcome/Refusal.ts'
import { inspection } from './json/Json.ts'
import { copyJson } from './json/copyJson.ts'
import { showPath } from './json/Finding.ts'
import type { EventPayload } from './Payload.ts'
import * as Limits from './Limits.ts'

const BRACE = 0x7b
const BRACKET = 0x5b

const fault = (message: string): ReadonlyArray<Fault> => [{ path: '', message }]

/** Why a body could not be written: found by going through it once more, for this is the rare case. */
const whyNot = (body: unknown): ReadonlyArray<Fault> => {
  const look = inspection()
  copyJson(body, 'body', undefined, 0, look)
  return look.findings.length === 0
    ? fault('could not be written as JSON')
    : look.findings.map(({ steps, message }) => ({ path: showPath(steps.slice(1)), message }))
}

const textOf = (body: unknown): string | undefined => {
  try {
    // Of a function or undefined there is no text, whatever the types of JSON.stringify say.
    const text: string | undefined = JSON.stringify(body)
    return text
  } catch {
    return undefined
  }
}

/**
 * Writes a body once, with plain `JSON.stringify`, and measures it once (BY1). The body must be an object or an array: many
 * receivers refuse everything else. `Invalid` when it is not or cannot be written; `TooLarge`, with limit, size and id, when it
 * has more than `limit` bytes of UTF-8 (BY3). Never throws.
 *
 * @param limit bytes; default 64,000 (BY2)
 *
 * @example
 * import { encodePayload } from 'headrace'
 * import { isRight } from 'fp-ts/lib/Either.js'
 * const payload = encodePayload('m1', { any: 'item' }, { hello: 'wörld' })
 * if (isRight(payload)) console.log(payload.right.text, payload.right.byteLength) // => {"hello":"wörld"} 18
 */
export const encodePayload = <A>(
  id: string,
  item: A,
  body: unknown,
  limit: number = Limits.bodyBytes,
): Either<Refusal, EventPayload<A>> => {
  const text = textOf(body)
  if (text === undefined) return left(invalid(item, whyNot(body)))
  // First the bytes: counting joins the pieces that JSON.stringify leaves, and then a character is read at once.
  const byteLength = Buffer.byteLength(text)
  const start = text.charCodeAt(0)
  if (start !== BRACE && start !== BRACKET)
    return left(invalid(item, fault('the body must be an object or an array')))
  return byteLength > limit
    ? left(tooLarge(item, limit, byteLength, id))
    : right({ id, items: [item], text, byteLength })
}
