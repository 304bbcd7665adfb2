import { type KeyObject, timingSafeEqual } from 'node:crypto'
import { digest } from './digest.ts'

/**
 * The position of the first key whose signature of the body is this one (40 lower-case hexadecimal digits, checked before);
 * undefined if there is none. In constant time: every key is tried, and every comparison looks at all 40 characters.
 */
export const compare = (
  keys: ReadonlyArray<KeyObject>,
  body: string | Uint8Array,
  signature: string,
): number | undefined => {
  const given = Buffer.from(signature, 'latin1')
  let found: number | undefined
  keys.forEach((key, position) => {
    const equal = timingSafeEqual(Buffer.from(digest(key, body), 'latin1'), given)
    if (equal && found === undefined) found = position
  })
  return found
}
