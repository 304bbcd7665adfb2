import { right } from 'fp-ts/lib/Either.js'
import { map } from 'rxjs'
import type { ObservableEither } from '../core/outcome.ts'
import type { Payload, Signer } from '../event/payload.ts'
import type { Secret } from '../signing/secret.ts'
import { signerOf } from '../signing/sign.ts'

/** Written out: spreading the payload is four times slower. */
const withSigner = <A>(payload: Payload<A>, signer: Signer): Payload<A> => {
  const { id, byteLength } = payload
  if (payload.members === undefined)
    return { id, items: payload.items, text: payload.text, byteLength, signer }
  const { items, members, frame, closedBy } = payload
  return { id, items, members, byteLength, frame, closedBy, signer }
}

/**
 * Gives each payload a signer. The signature is computed when the payload is sent, and is never stored. Sign after `batch`: the
 * signature covers the whole body. With a durable outbox give the secret to the sink instead (`webhook({ url, secret })`): the
 * signer is a function and is not stored.
 *
 * @throws TypeError for a secret that is empty or begins or ends with white space.
 *
 * @example
 * import { bodyOf, sign } from 'headrace'
 * import { right } from 'fp-ts/lib/Either.js'
 * import { of } from 'rxjs'
 * const payload = { id: 'm1', items: [{ type: 'track' }] as const, text: '{"type":"track"}', byteLength: 16 }
 * of(right(payload)).pipe(sign('correct horse')).subscribe((each) => {
 *   if (each._tag === 'Right') console.log(each.right.signer?.(bodyOf(each.right, 0)).length) // => 40
 * })
 */
export const sign = (
  secret: Secret | string,
): (<L, A>(source: ObservableEither<L, Payload<A>>) => ObservableEither<L, Payload<A>>) => {
  const signer = signerOf(secret)
  return (source) =>
    source.pipe(map((each) => (each._tag === 'Left' ? each : right(withSigner(each.right, signer)))))
}
