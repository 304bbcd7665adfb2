import { right } from 'fp-ts/lib/Either.js'
import { map } from 'rxjs'
import type { ObservableEither } from '../core/outcome.ts'
import type { Payload, Signer } from '../event/payload.ts'
import type { Secret } from '../signing/secret.ts'
import { signerOf } from '../signing/sign.ts'

/** Spread, it costs four times as much. */
const signed = <A>(payload: Payload<A>, signer: Signer): Payload<A> => {
  const { id, byteLength } = payload
  if (payload.members === undefined)
    return { id, items: payload.items, text: payload.text, byteLength, signer }
  const { items, members, frame, closedBy } = payload
  return { id, items, members, byteLength, frame, closedBy, signer }
}

/**
 * Lets the payloads be signed. The signature itself is made when a payload is sent, once for each body and secret, and is
 * never stored (DE10); here each payload only gets the signer. Sign after `batch`: what is signed is the body that goes out.
 * Over an outbox that keeps text (`lmdbOutbox`, one of your own) give the secret to the sink instead, `webhook({ url, secret })`: the signer is
 * a function, and does not come back. A secret that is empty or padded throws a `TypeError` here, when the pipeline is put together.
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
    source.pipe(map((each) => (each._tag === 'Left' ? each : right(signed(each.right, signer)))))
}
