import { isLeft } from 'fp-ts/lib/Either.js'
import { newId } from '../event/payload.ts'
import { secretFrom } from '../signing/secret.ts'
import type { Secret } from '../signing/secret.ts'
import { signerOf } from '../signing/sign.ts'

/** Finds out who sends. */
export interface Authentication<S> {
  /** By an `Authorization` header: Basic, the write key as user name, whatever the password. */
  readonly byHeader: (header: string) => S | undefined
  /** By the write key itself. */
  readonly byKey: (key: string) => S | undefined
}

const BASIC = /^basic +([A-Za-z0-9+/_=-]+) *$/i

/** Whether a header is of the kind that names a write key; another one (Bearer) leaves it to the body. */
export const isBasic = (header: string): boolean => /^basic\b/i.test(header)

/** The user name of a Basic header; some senders leave out the colon. */
const userOf = (header: string): string | undefined => {
  const [, encoded] = BASIC.exec(header) ?? []
  if (encoded === undefined) return undefined
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon < 0 ? text : text.slice(0, colon)
}

/**
 * Knows everybody by their write keys. Keys are never compared: each signs the same words, made up for this process, and it is the
 * signature that is looked up, so how long that takes tells nothing of a key. The user names that were right are remembered, for each
 * costs a signature otherwise: no more than there are keys, whatever passwords come with them. They stand in a `Map`, which compares texts
 * only when their hashes, of the whole text and seeded by the process, are equal.
 */
export const authentication = <S>(
  everybody: ReadonlyArray<readonly [Secret | string, S]>,
): Authentication<S> => {
  const words = newId()
  const printOf = (key: Secret | string): string => signerOf(key)(words)
  const byPrint = new Map(everybody.map(([key, who]) => [printOf(key), who]))
  const remembered = new Map<string, S>()

  const byKey = (key: string): S | undefined => {
    const secret = secretFrom(key)
    return isLeft(secret) ? undefined : byPrint.get(printOf(secret.right))
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
