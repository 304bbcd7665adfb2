import { isLeft } from '../core/either.ts'
import { newId } from '../event/payload.ts'
import { signerFrom, type Secret } from '../signing/secret.ts'

const MAX_REMEMBERED = 1_000
const BASIC = /^basic +([A-Za-z0-9+/_=-]+) *$/i

/** The user name of a Basic header. Some senders omit the colon. */
const userOf = (header: string): string | undefined => {
  const [, encoded] = BASIC.exec(header) ?? []
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8').split(':', 1)[0]
}

/**
 * Finds the owner of a write key. Keys are never compared as text: each signs a word of this process, and the
 * signature is looked up, so timing tells nothing of a key. Correct headers are remembered: a signature
 * costs more than the rest.
 */
export const authentication = <S>(owners: ReadonlyArray<readonly [key: Secret | string, owner: S]>) => {
  const word = newId()
  const signatureOf = (key: unknown): string | undefined => {
    const signer = signerFrom(key)
    return isLeft(signer) ? undefined : signer.right(word)
  }
  const bySignature = new Map(owners.map(([key, owner]) => [signatureOf(key), owner]))
  const remembered = new Map<string, S>()
  const byKey = (key: unknown): S | undefined => {
    const signature = signatureOf(key)
    return signature === undefined ? undefined : bySignature.get(signature)
  }

  return {
    byKey,
    /** By an `Authorization` header: Basic, with the write key as user name and any password. */
    byHeader: (header: string): S | undefined => {
      const known = remembered.get(header)
      if (known !== undefined) return known
      const found = byKey(userOf(header) ?? '')
      // The password is free, so a sender has any number of headers.
      if (remembered.size >= MAX_REMEMBERED) remembered.clear()
      if (found !== undefined) remembered.set(header, found)
      return found
    },
  }
}
