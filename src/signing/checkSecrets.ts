import type { KeyObject } from 'node:crypto'
import { type Either, left, right } from 'fp-ts/lib/Either.js'
import { mismatch, type Mismatch, type Secrets } from './Mismatch.ts'
import { keyOf, type Secret, secretFrom } from './Secret.ts'

const isList = (secrets: Secrets): secrets is ReadonlyArray<Secret | string> => Array.isArray(secrets)

/**
 * The keys of all secrets. One that is wrong fails them all: an unset variable among two secrets must be seen at once, not on
 * the day the other one goes.
 */
export const checkSecrets = (secrets: Secrets): Either<Mismatch, ReadonlyArray<KeyObject>> => {
  const keys: KeyObject[] = []
  for (const secret of isList(secrets) ? secrets : [secrets]) {
    const known = keyOf(secret)
    const made = known === undefined ? secretFrom(secret) : right(secret)
    if (made._tag === 'Left')
      return left(
        mismatch('badSecret', `this receiver's secret ${made.left.message}: nothing can be verified with it`),
      )
    const key = known ?? keyOf(made.right)
    if (key !== undefined) keys.push(key)
  }
  return keys.length > 0
    ? right(keys)
    : left(mismatch('badSecret', 'this receiver has no secret: nothing can be verified without one'))
}
