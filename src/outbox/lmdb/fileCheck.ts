/**
 * Checks the file of lmdb before lmdb maps it into memory: a page that is missing there ends the process when it is read.
 *
 * @module
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** What is wrong with a file. */
export interface FileFault {
  readonly reason: 'notAnOutbox' | 'damaged'
  /** Continues a sentence that begins with the name of the file. */
  readonly what: string
}

export const FOREIGN: FileFault = { reason: 'notAnOutbox', what: 'was not written by headrace' }
const SHORT: FileFault = { reason: 'damaged', what: 'is shorter than it was' }

/** The head of a page: its number, transaction, flags, and the end of its nodes or its number of pages. Offsets of nodes count from its end. */
const PAGE_HEAD = 24
const FLAGS_AT = 18
const EXTENT_AT = 20
const IS_BRANCH = 1
const IS_LEAF = 2
const NO_PAGE = 0xffff_ffff_ffff_ffffn

const MAGIC = 0xbeef_c0de
const LAYOUT = 2

interface Meta {
  readonly pageSize: number
  readonly roots: ReadonlyArray<bigint>
  readonly lastPage: bigint
  readonly transaction: bigint
}

const readAt = (file: number, at: number, length: number): Buffer | undefined => {
  const bytes = Buffer.alloc(length)
  return readSync(file, bytes, 0, length, at) === length ? bytes : undefined
}

/** The meta page at this offset. The file has two of them, and the later transaction counts. */
const metaAt = (file: number, at: number): Meta | undefined => {
  const meta = readAt(file, at + PAGE_HEAD, 136)
  if (meta?.readUInt32LE(0) !== MAGIC || meta.readUInt32LE(4) !== LAYOUT) return undefined
  const pageSize = meta.readUInt32LE(24)
  if (pageSize < 256 || pageSize > 65_536) return undefined
  const roots = [meta.readBigUInt64LE(64), meta.readBigUInt64LE(112)]
  return { pageSize, roots, lastPage: meta.readBigUInt64LE(120), transaction: meta.readBigUInt64LE(128) }
}

const nodesOf = (page: Buffer): ReadonlyArray<Buffer> =>
  Array.from({ length: page.readUInt16LE(EXTENT_AT) >> 1 }, (_, at) =>
    page.subarray(PAGE_HEAD + page.readUInt16LE(PAGE_HEAD + 2 * at)),
  )

const childOf = (node: Buffer): bigint => BigInt(node.readUIntLE(0, 6))

/** The page to which a node of a leaf refers, if any. */
const pageIn = (node: Buffer): bigint => {
  const flags = node.readUInt16LE(4)
  const value = node.subarray(8 + node.readUInt16LE(6))
  // The value stands on pages of its own, or is the head of another tree.
  if ((flags & 1) !== 0) return value.readBigUInt64LE(0)
  return (flags & 2) === 0 ? NO_PAGE : value.readBigUInt64LE(40)
}

/** Whether all pages that the trees use are in the file. It reads every page in use, so it is for files that may be too short. */
const hasAllPages = (file: number, size: number, { pageSize, roots }: Meta): boolean => {
  const pageCount = Math.floor(size / pageSize)
  const ahead = [...roots]
  let seen = 0
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    if (next === NO_PAGE) continue
    const page = next < BigInt(pageCount) && readAt(file, Number(next) * pageSize, pageSize)
    // A damaged file may have a circle of pages.
    if (!page || ++seen > pageCount) return false
    const flags = page.readUInt16LE(FLAGS_AT)
    if ((flags & IS_BRANCH) !== 0) ahead.push(...nodesOf(page).map(childOf))
    else if ((flags & IS_LEAF) !== 0) ahead.push(...nodesOf(page).map(pageIn))
    else if (Number(next) + page.readUInt32LE(EXTENT_AT) > pageCount) return false
  }
  return true
}

/** What is wrong with a file of lmdb, if anything. */
export const fileFault = (path: string): FileFault | undefined => {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const first = metaAt(file, 0)
    if (first === undefined) return size === 0 ? SHORT : FOREIGN
    const second = metaAt(file, first.pageSize)
    if (second === undefined) return SHORT
    const meta = first.transaction > second.transaction ? first : second
    // A page that was used and freed in one transaction is never written, so a sound file may end before its last page.
    const isLongEnough = BigInt(size) >= (meta.lastPage + 1n) * BigInt(meta.pageSize)
    return isLongEnough || hasAllPages(file, size, meta) ? undefined : SHORT
  } catch (error) {
    // A node that points beyond its page.
    if (error instanceof RangeError) return SHORT
    throw error
  } finally {
    closeSync(file)
  }
}
