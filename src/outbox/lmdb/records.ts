/**
 * The stored form of an item: `crc32 | size | length of about | about | body`. `about` is JSON: the data of
 * the item beside its body. The checksum covers everything after it.
 *
 * @module
 */
import { aboutCorrupt, deadLetterIn, entryIn } from '../stored.ts'
import type { DeadLetter, Entry, ItemCodec } from '../outbox.ts'

const SIZE_AT = 4
const LENGTH_AT = 12
const HEAD = 16

let crc32: ((bytes: DataView) => number) | undefined

/** A DataView is the cheapest view of bytes to make (measured). */
const checksum = ({ buffer, byteOffset, length }: Buffer): number =>
  (crc32 ??= process.getBuiltinModule('node:zlib').crc32)(
    new DataView(buffer, byteOffset + SIZE_AT, length - SIZE_AT),
  )

const sealed = (bytes: Buffer, size: number, aboutLength: number): Buffer => {
  bytes.writeDoubleLE(size, SIZE_AT)
  bytes.writeUInt32LE(aboutLength, LENGTH_AT)
  bytes.writeUInt32LE(checksum(bytes), 0)
  return bytes
}

const LIST_BYTES = 1_048_576

/** Memory for the records of one list at a time. A buffer for each took a third of an enqueue, as garbage. */
export const listMemory = () => {
  let memory: Buffer<ArrayBuffer> | undefined
  let used = 0
  return {
    /** For the next list. lmdb reads the records of the last one until that is written. */
    reset: () => (used = 0),
    bytesFor: (length: number) => {
      if (used + length > LIST_BYTES) return Buffer.allocUnsafe(length)
      memory ??= Buffer.allocUnsafeSlow(LIST_BYTES)
      return memory.subarray(used, (used += length))
    },
  }
}

export const encodeRecord = (size: number, text: string, bytesFor: (length: number) => Buffer): Buffer => {
  const bytes = bytesFor(HEAD + Buffer.byteLength(text))
  bytes.write(text, HEAD)
  return sealed(bytes, size, 0)
}

const join = (size: number, about: string, body: Buffer): Buffer => {
  const aboutLength = Buffer.byteLength(about)
  const bytes = Buffer.allocUnsafe(HEAD + aboutLength + body.length)
  bytes.write(about, HEAD)
  body.copy(bytes, HEAD + aboutLength)
  return sealed(bytes, size, aboutLength)
}

const recordBody = (record: Buffer): Buffer => record.subarray(HEAD + record.readUInt32LE(LENGTH_AT))

/** The same item with another `about`. Its body is copied byte by byte. */
export const withAbout = (record: Buffer, about: string): Buffer =>
  join(record.readDoubleLE(SIZE_AT), about, recordBody(record))

/** The size that a record names, also a damaged one; 0 if that is no size. */
export const sizeIn = (record: Buffer): number => {
  const size = record.length < HEAD ? 0 : record.readDoubleLE(SIZE_AT)
  return Number.isFinite(size) && size > 0 ? size : 0
}

/** A record that cannot be read, as text: its bytes after the head. Bytes that are not text are replaced. */
export const rawOf = (record: Buffer): string => record.toString('utf8', HEAD)

/** A dead letter of a record that cannot be read. */
export const encodeCorrupt = (record: Buffer, at: number) => join(0, aboutCorrupt(at), record.subarray(HEAD))

/** Reads the text and the `about` of a record. Undefined if its bytes are not those that were written. */
const readRecord = <T>(record: Buffer, read: (text: string, about: string) => T): T | undefined => {
  if (record.length < HEAD || checksum(record) !== record.readUInt32LE(0)) return undefined
  const body = recordBody(record)
  return read(body.toString(), record.toString('utf8', HEAD, record.length - body.length))
}

/** The entry in a record; undefined if it cannot be read. */
export const decodeEntry = <A>(codec: ItemCodec<A>, number: number, record: Buffer): Entry<A> | undefined =>
  readRecord(record, (text, about) => entryIn(codec, { id: number, text, about }))

export const decodeDeadLetter = <A>(codec: ItemCodec<A>, number: number, record: Buffer): DeadLetter<A> => {
  const id = String(number)
  const read = readRecord(record, (text, about) => deadLetterIn(codec, { id, text, about }))
  return read ?? { id, at: 0, reason: 'corrupt', raw: rawOf(record) }
}
