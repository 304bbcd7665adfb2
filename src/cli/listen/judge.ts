import { verifyRaw } from '../../signing/verifyRaw.ts'
import type { Secret } from '../../signing/Secret.ts'
import type { Arrived } from './openReceiver.ts'

/** Whether a request is from somebody who knows the secret. */
export interface Judgement {
  readonly verdict: 'authentic' | 'not authentic' | 'not checked'
  /** What happened and what to do, unless it is authentic. */
  readonly why?: string
}

/** Judges a request by its signature, over the bytes as they arrived. Without a secret nothing can be said. */
export const judge = (secret: Secret | undefined, { body, signature }: Omit<Arrived, 'path'>): Judgement => {
  if (secret === undefined)
    return {
      verdict: 'not checked',
      why:
        signature === undefined
          ? 'it is not signed'
          : 'it is signed, and no secret was given: give --secret-env to verify',
    }
  const result = verifyRaw(secret, body, signature)
  return result._tag === 'Right'
    ? { verdict: 'authentic' }
    : { verdict: 'not authentic', why: result.left.explanation }
}
