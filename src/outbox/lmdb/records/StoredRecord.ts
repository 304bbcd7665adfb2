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

/** The checksum of a record whose own place for it holds zeros: of the whole, for a view of the rest would cost more than the sum. */
const sumOf = (bytes: Buffer): number => {
  bytes.writeUInt32LE(0, 0)
  return crc32(bytes)
}

const seal = (bytes: Buffer): Buffer => {
  bytes.writeUInt32LE(sumOf(bytes), 0)
  return bytes
}

const isSealed = (bytes: Buffer): boolean => {
  const told = bytes.readUInt32LE(0)
  const found = sumOf(bytes)
  bytes.writeUInt32LE(told, 0)
  return found === told
}

const bodyAt = (bytes: Buffer): number => HEAD + bytes.readUInt32LE(ABOUT_AT)

/** The bytes of a record. */
export const encodeRecord = ({ size, about, text }: StoredRecord): Buffer => {
  const aboutLength = about === '' ? 0 : Buffer.byteLength(about)
  const textLength = Buffer.byteLength(text)
  const bytes = Buffer.allocUnsafe(HEAD + aboutLength + textLength)
  bytes.writeDoubleLE(size, SIZE_AT)
  bytes.writeUInt32LE(aboutLength, ABOUT_AT)
  if (aboutLength > 0) bytes.write(about, HEAD)
  bytes.write(text, HEAD + aboutLength, textLength, 'utf8')
  return seal(bytes)
}

/** The same record with something else known of it. Its body is copied byte by byte and never encoded anew. */
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
  bytes.length < HEAD || !isSealed(bytes) ? undefined : decodeLoosely(bytes)

/** What a record counts for, as far as its bytes tell: 0 if they tell nothing sensible. */
export const sizeIn = (bytes: Buffer): number => {
  const size = bytes.length < HEAD ? 0 : bytes.readDoubleLE(SIZE_AT)
  return Number.isFinite(size) && size > 0 ? size : 0
}
