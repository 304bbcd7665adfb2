/** A word begins with a letter or a digit; marks belong to the letter before them, without them many scripts lose their vowels. */
const WORDS = /[\p{L}\p{Nd}][\p{L}\p{Nd}\p{M}]*/gu
/** Between a lower-case letter, marks included, and one that has a lower-case form. */
const HUMP = /(?<=\p{Ll}\p{M}*)(?=\p{CWL})/gu

/**
 * The trait that an audience of this name goes out as (CO3): its snake_case form. The name is split at everything that is no letter
 * or digit, and between a lower-case letter and an upper-case one; the parts are lower-cased and joined by `_`. Letters of
 * any script are kept, and two spellings of one letter in Unicode are one. The name of a trait is its own trait name.
 *
 * @returns undefined if the name holds no letter and no digit
 *
 * @example
 * import { traitNameOf } from 'headrace/collector'
 * console.log(traitNameOf('VIP Customers (EU)')) // => vip_customers_eu
 * console.log(traitNameOf('lastSeen')) // => last_seen
 * console.log(traitNameOf('!?')) // => undefined
 */
export const traitNameOf = (name: string): string | undefined => {
  const words = name.normalize('NFC').match(WORDS)
  if (words === null) return undefined
  const parts = words.flatMap((word) => word.split(HUMP))
  // Again, for a letter and its mark may be one letter in lower case only.
  return parts.join('_').toLowerCase().normalize('NFC')
}
