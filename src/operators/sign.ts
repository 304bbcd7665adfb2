import { right, type Either } from '../core/either.ts'
import { kindOf } from '../core/json.ts'
import type { EitherSource, Hint, ObservableEither } from '../core/outcome.ts'
import { bytesOf, isPayload, withSignature } from '../event/payload.ts'
import type { BatchPayload, EventPayload, FixedFrame } from '../event/payload.ts'
import { signerFor, type Secret } from '../signing/secret.ts'
import { changeRight } from './rightSide.ts'

/** A payload whose body is known beforehand: of one event, or of a batch without a time of sending. */
export type Signable<A> = EventPayload<A> | BatchPayload<A, FixedFrame>

/** A payload with the signature of its body. */
export type Signed<P> = P & { readonly signature: string }

/**
 * Signs the body of each payload as it passes, and keeps the signature in the payload, as data: it is stored
 * and sent again with it. Sign after `batch`, because the signature covers the whole body. A payload whose
 * text is changed after `sign` is not sent: `webhook` and `ingestion` refuse it, as `changedAfterSign`.
 *
 * A secret that changes while events wait belongs to the sink (`webhook({ url, secret })`), which signs when
 * it sends, and wins. So does the secret for batches with a time of sending (`sentAt`): the compiler refuses
 * them here, and from JavaScript the stream ends with a TypeError.
 *
 *     in:   R(a)         L(x)
 *     out:  R(a, signed) L(x)
 *
 * @throws TypeError for a secret that `secretFrom` of `headrace/signing` refuses, such as an empty one.
 *
 * @example
 * import { sign } from 'headrace'
 * import { right } from 'fp-ts/lib/Either.js'
 * import { of } from 'rxjs'
 * const payload = { id: 'm1', items: [{ type: 'track' }] as const, text: '{"type":"track"}', byteLength: 16 }
 * of(right(payload)).pipe(sign('correct horse')).subscribe((each) => {
 *   if (each._tag === 'Right') console.log(each.right.signature?.length) // => 40
 * })
 */
export const sign = (
  secret: Secret | string,
): (<L, P extends Signable<unknown>>(
  source: EitherSource<L, P | Hint<'put encode() before sign'>>,
) => ObservableEither<L, Signed<P>>) => {
  const signer = signerFor(secret, 'sign: ')
  const signed = <P extends Signable<unknown>>(
    payload: P | Hint<'put encode() before sign'>,
  ): Either<never, Signed<P>> => {
    if (!isPayload(payload))
      throw new TypeError(`sign: expected a payload, got ${kindOf(payload)}: put encode() before it`)
    // The type says so; code without types may still send one.
    if (payload.frame !== undefined && 'sentAt' in payload.frame)
      throw new TypeError(
        'sign: the body of this batch has a time of sending, so it is not known yet: give ' +
          'the secret to the sink, webhook({ url, secret })',
      )
    const isText = payload.members === undefined && payload.encoding === undefined
    return right(withSignature(payload, signer(isText ? payload.text : bytesOf(payload, 0))))
  }
  return <L, P extends Signable<unknown>>(source: EitherSource<L, P | Hint<'put encode() before sign'>>) =>
    changeRight('sign', signed<P>)(source)
}
