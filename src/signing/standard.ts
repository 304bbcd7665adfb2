/** Standard Webhooks: signatures over id, time and body, so that a receiver can refuse an old request. */
import { ignoreRejection } from '../core/awaitable.ts'
import { nodeCrypto } from '../core/package.ts'
import { left, right, valueOr, type Either } from '../core/either.ts'
import { UnfitAnswer, type Fault } from '../core/refusal.ts'
import type { Signer } from '../event/payload.ts'
import { knownSigner, sealed, type Secret } from './secret.ts'
import { failed, type Mismatch, type Verify } from './verify.ts'

/** `whsec_` and the base64 of 24 to 64 bytes; a list while one replaces another. Decoded, a `Secret`. */
export type StandardSecrets = Secret | string | ReadonlyArray<string>

/** Secrets, or a function that is asked for them at each attempt. @inline */
export type StandardSecretSource = StandardSecrets | (() => StandardSecrets)

/** The headers of a message. They belong to the request if it has a standard secret. */
export const STANDARD_HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const

const PREFIX = 'whsec_'
const NO_KEY = `must be "${PREFIX}" and the base64 of 24 to 64 bytes`

const keyOf = (text: unknown): Buffer | undefined => {
  const key = Buffer.from(String(text).slice(PREFIX.length), 'base64')
  // Node skips what is no base64.
  return PREFIX + key.toString('base64') === text && key.length >= 24 && key.length <= 64 ? key : undefined
}

/** One unprintable secret for all. Its signer takes `id.seconds.body` and has a signature for each. */
export const standardSecretFrom = (given: unknown): Either<Fault, Secret> => {
  // Only a signer of this file answers so.
  if (knownSigner(given)?.('').startsWith('v1,') === true) return right(given as Secret)
  const list: ReadonlyArray<unknown> = Array.isArray(given) ? given : [given]
  if (list.length === 0) return left({ path: '', message: 'must have at least one secret' })
  const keys = list.flatMap((each) => keyOf(each) ?? [])
  const wrong = list.findIndex((each) => keyOf(each) === undefined)
  if (wrong >= 0) return left({ path: Array.isArray(given) ? `[${String(wrong)}]` : '', message: NO_KEY })
  const signed = (key: Buffer, content: string | Uint8Array): string =>
    `v1,${nodeCrypto().createHmac('sha256', key).update(content).digest('base64')}`
  return right(sealed((content) => keys.map((key) => signed(key, content)).join(' ')))
}

const contentOf = (id: string, seconds: string, body: string | Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(`${id}.${seconds}.`), Buffer.from(body)])

/**
 * The three headers of Standard Webhooks for a message that is sent at `now` (milliseconds since 1970), with
 * one signature for each secret. `id` must be visible ASCII. Throws a `TypeError` if a secret is wrong.
 *
 * @example
 * import { standardHeadersOf } from 'headrace/signing'
 * const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
 * console.log(standardHeadersOf(secret, 'm1', '{}', 1_700_000_000_000)['webhook-timestamp']) // => 1700000000
 */
export const standardHeadersOf = (
  secrets: StandardSecrets,
  id: string,
  body: string | Uint8Array,
  now: number,
): Readonly<Record<(typeof STANDARD_HEADERS)[number], string>> => {
  const secret = standardSecretFrom(secrets)
  if (secret._tag === 'Left') throw new UnfitAnswer(`the standard secret ${secret.left.message}`)
  const seconds = String(Math.floor(now / 1_000))
  // A secret has a signer.
  const signature = (knownSigner(secret.right) as Signer)(contentOf(id, seconds, body))
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signature }
}

/** Of the years 1973 to 5138: neither seconds nor microseconds. */
const isMillis = (time: number): boolean => time > 1e11 && time < 1e14

/** Verifies a message by its three headers. `now` and `tolerance` are milliseconds. */
export const standardVerifierOf = (
  secrets: unknown,
  headers: ReadonlyArray<unknown>,
  tolerance: number,
  now: unknown,
): Either<Mismatch, Verify> => {
  ignoreRejection(now)
  const secret = standardSecretFrom(secrets)
  if (secret._tag === 'Left')
    return failed('badSecret', `this receiver's standard secret${secret.left.path} ${secret.left.message}`)
  const [id, seconds, signatures] = headers.map((each) => (typeof each === 'string' ? each : ''))
  if (!id || !seconds || !signatures)
    return failed(
      'missing',
      `${STANDARD_HEADERS.join(', ')} are not all there: the sender has no standard secret, or a proxy ` +
        'removed them; X-Signature alone counts with { secrets, standardSecrets, migrating: true }',
    )
  // A sender may add signatures of other versions.
  const given = signatures.split(' ').filter((each) => /^v1,[A-Za-z0-9+/]{43}=$/.test(each))
  if (given.length === 0 || !/^\d{1,12}$/.test(seconds))
    return failed('malformed', 'there is no signature of the form v1,<base64>, or no time in seconds')
  const time = valueOr(NaN, () => Number(now))
  if (!(Math.abs(Math.floor(time / 1_000) - Number(seconds)) * 1_000 <= tolerance))
    return isMillis(time)
      ? failed('stale', 'the request is old or from the future: sent again, or a clock is wrong')
      : failed('badClock', "this receiver's now must answer milliseconds since 1970, and not a promise")
  return right((body) => {
    const expected = standardHeadersOf(secret.right, id, body, Number(seconds) * 1_000)['webhook-signature']
    const fits = (one: string): boolean =>
      given.map((each) => nodeCrypto().timingSafeEqual(Buffer.from(each), Buffer.from(one))).includes(true)
    const position = expected.split(' ').map(fits).indexOf(true)
    if (position >= 0) return right({ _tag: 'Verified', secret: position })
    return failed('mismatch', 'no signature belongs to this id, time, body and a secret of this receiver')
  })
}
