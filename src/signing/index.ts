/**
 * `headrace/signing`: signing and verifying, for senders and receivers. It loads no RxJS, no io-ts and no undici.
 *
 * @module
 */
export type { Signer } from '../event/Payload.ts'
export type { Fault } from '../outcome/Refusal.ts'
export type { NodeRequest, WebBody, WebRequest } from './Incoming.ts'
export type { Mismatch, MismatchReason, Secrets, Verified, VerifiedRequest } from './Mismatch.ts'
export { type Secret, secretFrom } from './Secret.ts'
export { sign } from './sign.ts'
export { signerOf } from './signerOf.ts'
export { verifyParsed } from './verifyParsed.ts'
export { verifyRaw } from './verifyRaw.ts'
export { verifyRequest, type VerifyRequestOptions } from './verifyRequest.ts'
