/** `headrace/signing`: signs and verifies. It loads no RxJS, no io-ts and no undici. @module */
export type { Signer } from '../event/payload.ts'
export type { Fault } from '../core/refusal.ts'
export type { NodeRequest, WebBody, WebRequest } from './request.ts'
export type { Mismatch, Secrets, Verified, VerifiedRequest } from './verify.ts'
export { type Secret, secretFrom, signatureOf, signerOf } from './secret.ts'
export { verifyParsed, verifyRaw } from './verify.ts'
export { verifyRequest, type VerifyKeys, type VerifyRequestOptions } from './request.ts'
export { standardHeadersOf, type StandardSecrets } from './standard.ts'
