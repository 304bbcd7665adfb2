import { isLeft } from 'fp-ts/lib/Either.js'
import { newId } from '../event/payload.ts'
import type { Secret } from '../signing/secret.ts'
import { secretFrom, signerOf } from '../signing/secret.ts'

/** Finds the owner of a write key. */
export interface Authentication<S> {
  /** By an `Authorization` header: Basic, with the write key as user name and any password. */
  readonly byHeader: (header: string) => S | undefined
  /** By the write key. */
  readonly byKey: (key: string | undefined) => S | undefined
}

const BASIC = /^basic +([A-Za-z0-9+/_=-]+) *$/i

/** Whether a header is Basic. With another scheme (Bearer) the body must name the write key. */
export const isBasic = (header: string): boolean => /^basic\b/i.test(header)

/** The user name of a Basic header. Some senders omit the colon. */
const userOf = (header: string): string | undefined => {
  const [, encoded] = BASIC.exec(header) ?? []
  if (encoded === undefined) return undefined
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon < 0 ? text : text.slice(0, colon)
}

/**
 * Keys are never compared as text: each signs a word of this process, and the signature is looked up, so timing tells nothing of
 * a key. Correct user names are remembered, because a signature costs more than the rest; there are no more of them than keys.
 */
export const authentication = <S>(
  owners: ReadonlyArray<readonly [key: Secret | string, owner: S]>,
): Authentication<S> => {
  const word = newId()
  const signatureOf = (key: Secret | string): string => signerOf(key)(word)
  const bySignature = new Map(owners.map(([key, owner]) => [signatureOf(key), owner]))
  const remembered = new Map<string, S>()

  const byKey = (key: string | undefined): S | undefined => {
    const secret = secretFrom(key)
    return isLeft(secret) ? undefined : bySignature.get(signatureOf(secret.right))
  }

  return {
    byKey,
    byHeader: (header) => {
      const user = userOf(header)
      if (user === undefined) return undefined
      const known = remembered.get(user)
      if (known !== undefined) return known
      const found = byKey(user)
      if (found !== undefined) remembered.set(user, found)
      return found
    },
  }
}
