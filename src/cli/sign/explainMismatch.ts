import { verifyRaw } from '../../signing/verifyRaw.ts'
import type { Secret } from '../../signing/Secret.ts'

/** Why a body does not have this signature, or undefined if it has. Looks for the slips that people make by hand. */
export const explainMismatch = (secret: Secret, body: Uint8Array, signature: string): string | undefined => {
  const result = verifyRaw(secret, body, signature)
  if (result._tag === 'Right') return undefined
  const withoutBreak = Buffer.from(body)
    .toString('latin1')
    .replace(/\r?\n$/, '')
  return withoutBreak.length < body.length &&
    verifyRaw(secret, Buffer.from(withoutBreak, 'latin1'), signature)._tag === 'Right'
    ? 'it was signed without the line break at its end, which an editor or echo has added: remove it'
    : result.left.explanation
}
