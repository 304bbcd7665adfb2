/**
 * How an item lies in the store: a checksum over the rest, what it counts for, what is known of it as JSON, and its body.
 *
 * @module
 */
import { crc32 } from 'node:zlib'

const SIZE_AT = 4
const ABOUT_AT = 12
const HEAD = 16

/** What a record says. */
export interface StoredRecord {
  /** What it counts for in the bound of bytes. */
  readonly size: number
  /** What is known of it, as JSON; empty for an item that was never tried. */
  readonly about: string
  /** The item itself. */
  readonly text: string
}

/** The checksum of what stands in the place of the checksum: zeros. */
const SUM_OF_ZEROS = crc32(new Uint8Array(SIZE_AT))

/** The checksum of a record with zeros in the place of the checksum. Of all views of bytes, a DataView is the cheapest by far. */
const sumOf = ({ buffer, byteOffset, length }: Buffer): number =>
  crc32(new DataView(buffer, byteOffset + SIZE_AT, length - SIZE_AT), SUM_OF_ZEROS)

const bodyAt = (bytes: Buffer): number => HEAD + bytes.readUInt32LE(ABOUT_AT)

/** Of a character in UTF-16, in UTF-8. */
const MOST_BYTES = 3

/** Memory for one record after the other, for a memory of its own for each would be felt. */
const memory = Buffer.allocUnsafeSlow(65_536)

/** Room for a record with these texts. */
const roomFor = (about: string, text: string): Buffer =>
  HEAD + (about.length + text.length) * MOST_BYTES <= memory.length
    ? memory
    : Buffer.allocUnsafe(HEAD + Buffer.byteLength(about) + Buffer.byteLength(text))

const seal = (bytes: Buffer): Buffer => {
  bytes.writeUInt32LE(sumOf(bytes), 0)
  return bytes
}

/** The bytes of a record. They are to be put into a store at once: the next record may take their memory. */
export const encodeRecord = ({ size, about, text }: StoredRecord): Buffer => {
  const room = roomFor(about, text)
  const aboutLength = about === '' ? 0 : room.write(about, HEAD)
  room.writeDoubleLE(size, SIZE_AT)
  room.writeUInt32LE(aboutLength, ABOUT_AT)
  return seal(room.subarray(0, HEAD + aboutLength + room.write(text, HEAD + aboutLength)))
}

/** The same record with something else known of it, in a memory of its own. Its body is copied byte by byte and never encoded anew. */
export const withAbout = (record: Buffer, about: string): Buffer => {
  const body = record.subarray(bodyAt(record))
  const aboutLength = Buffer.byteLength(about)
  const bytes = Buffer.allocUnsafe(HEAD + aboutLength + body.length)
  record.copy(bytes, SIZE_AT, SIZE_AT, ABOUT_AT)
  bytes.writeUInt32LE(aboutLength, ABOUT_AT)
  bytes.write(about, HEAD)
  body.copy(bytes, HEAD + aboutLength)
  return seal(bytes)
}

/** What the bytes of a record say, also if they are not those that were written; undefined if there are too few. */
export const decodeLoosely = (bytes: Buffer): StoredRecord | undefined => {
  if (bytes.length < HEAD) return undefined
  const at = bodyAt(bytes)
  return {
    size: bytes.readDoubleLE(SIZE_AT),
    about: at === HEAD ? '' : bytes.toString('utf8', HEAD, at),
    text: bytes.toString('utf8', at),
  }
}

/** What the bytes of a record say; undefined if they are not those that were written. */
export const decodeRecord = (bytes: Buffer): StoredRecord | undefined =>
  bytes.length < HEAD || sumOf(bytes) !== bytes.readUInt32LE(0) ? undefined : decodeLoosely(bytes)

/** What a record counts for, as far as its bytes tell: 0 if they tell nothing sensible. */
export const sizeIn = (bytes: Buffer): number => {
  const size = bytes.length < HEAD ? 0 : bytes.readDoubleLE(SIZE_AT)
  return Number.isFinite(size) && size > 0 ? size : 0
}
