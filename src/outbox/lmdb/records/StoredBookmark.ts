/**
 * How a bookmark lies in the store: its value under its name, or, where the name is none for a key of lmdb, both under the digest of the name.
 *
 * @module
 */
import { createHash } from 'node:crypto'
import type { Bookmark } from '../LmdbContract.ts'

/** A bookmark, and how it lies in the store. */
export interface StoredBookmark extends Bookmark {
  readonly key: string
  readonly text: string
}

/** In bytes. lmdb takes no more than twice as many. */
const LONGEST = 900

/** lmdb does not give back all keys with a control character or half a character. */
const ODD = /[\p{Cc}\p{Cs}]/u

const DIGEST = 'sha256:'

const isKey = (name: string): boolean =>
  Buffer.byteLength(name) <= LONGEST && !ODD.test(name) && !name.startsWith(DIGEST)

/** The key under which a bookmark lies. */
export const bookmarkKey = (name: string): string =>
  isKey(name) ? name : DIGEST + createHash('sha256').update(name, 'utf16le').digest('hex')

/**
 * As it is stored.
 *
 * @throws TypeError when it has no name, or its value is no text.
 */
export const encodeBookmark = ({ name, value }: Bookmark): StoredBookmark => {
  // Not every caller has types.
  const given: ReadonlyArray<unknown> = [name, value]
  if (name === '' || !given.every((text) => typeof text === 'string'))
    throw new TypeError('a bookmark has a name and a value, which are strings, and a name is not empty')
  const key = bookmarkKey(name)
  return { name, value, key, text: key === name ? value : JSON.stringify([name, value]) }
}

const both = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** As it was given. */
export const decodeBookmark = (key: string, text: string): Bookmark => {
  const found = key.startsWith(DIGEST) ? both(text) : undefined
  if (!Array.isArray(found)) return { name: key, value: text }
  const [name, value] = found.map(String)
  return { name: name ?? key, value: value ?? text }
}
