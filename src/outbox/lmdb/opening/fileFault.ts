import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { pagesNeeded } from './pagesNeeded.ts'

/** Where a page's content begins, behind its number, transaction, flags and bounds. */
const PAGE_HEAD = 24
const MAGIC = 0xbeefc0de
const LAYOUT = 2
/** From the start of the content of one of the two first pages. */
const LAYOUT_AT = 4
const PAGE_SIZE_AT = 24
const ROOT_OF_FREE_AT = 64
const ROOT_OF_MAIN_AT = 112
const LAST_PAGE_AT = 120
const TRANSACTION_AT = 128
const LARGEST_PAGE = 65_536

interface Meta {
  readonly pageSize: number
  readonly roots: ReadonlyArray<bigint>
  readonly lastPage: bigint
  readonly transaction: bigint
}

/** What is wrong with a file, without a word of what to do. */
export interface FileFault {
  readonly reason: 'notAnOutbox' | 'damaged'
  readonly what: string
}

const foreign: FileFault = { reason: 'notAnOutbox', what: 'was not written by headrace' }
const short: FileFault = { reason: 'damaged', what: 'is shorter than it was' }

const metaAt = (file: number, at: number): Meta | undefined => {
  const bytes = Buffer.alloc(PAGE_HEAD + TRANSACTION_AT + 8)
  if (readSync(file, bytes, 0, bytes.length, at) < bytes.length) return undefined
  const meta = bytes.subarray(PAGE_HEAD)
  const pageSize = meta.readUInt32LE(PAGE_SIZE_AT)
  const isOurs = meta.readUInt32LE(0) === MAGIC && meta.readUInt32LE(LAYOUT_AT) === LAYOUT
  if (!isOurs || pageSize < 256 || pageSize > LARGEST_PAGE) return undefined
  return {
    pageSize,
    roots: [meta.readBigUInt64LE(ROOT_OF_FREE_AT), meta.readBigUInt64LE(ROOT_OF_MAIN_AT)],
    lastPage: meta.readBigUInt64LE(LAST_PAGE_AT),
    transaction: meta.readBigUInt64LE(TRANSACTION_AT),
  }
}

const faultOf = (file: number): FileFault | undefined => {
  const found = fstatSync(file)
  if (!found.isFile()) return foreign
  const { size } = found
  const first = metaAt(file, 0)
  if (first === undefined) return size === 0 ? short : foreign
  const second = metaAt(file, first.pageSize)
  if (second === undefined)
    return size < 2 * first.pageSize ? short : { ...short, what: 'has a second page that is not its own' }
  const { roots, pageSize, lastPage } = first.transaction > second.transaction ? first : second
  // Pages that were used and freed in one transaction are never written, so a sound file too may end before its last page.
  if (BigInt(size) >= (lastPage + 1n) * BigInt(pageSize)) return undefined
  const pages = Math.floor(size / pageSize)
  const needed = pagesNeeded({ file, pageSize, pages, roots })
  return needed === undefined || needed > pages ? short : undefined
}

/**
 * What is wrong with a file of lmdb, if anything. Looked at by hand before lmdb may: what is no file of its own, or ends too early, it maps
 * into memory all the same, and the first look at it ends the process.
 */
export const fileFault = (path: string): FileFault | undefined => {
  // A pipe would keep whoever opens it waiting.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    return faultOf(file)
  } catch (error) {
    // A page that points beyond its own end.
    if (error instanceof RangeError) return short
    throw error
  } finally {
    closeSync(file)
  }
}
