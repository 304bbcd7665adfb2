/**
 * Checks the file of lmdb before lmdb maps it into memory: reading a missing page there ends the process.
 *
 * @module
 */
import { nameOf } from '../../core/failure.ts'

/** Node's files, loaded when they are needed: an `import` loads streams too, which takes 3 ms. */
export const nodeFs = () => process.getBuiltinModule('node:fs')

export interface FileFault {
  readonly reason: 'notAnOutbox' | 'damaged'
  /** Continues a sentence that begins with the name of the file. */
  readonly what: string
}

export const FOREIGN: FileFault = { reason: 'notAnOutbox', what: 'was not written by headrace' }
const SHORT: FileFault = { reason: 'damaged', what: 'is shorter than it was' }

const BROKEN: FileFault = { reason: 'damaged', what: 'has pages that cannot be read' }

/**
 * The head of a page: its number, transaction, flags, and the bounds of its nodes or its number of pages.
 * Offsets of nodes count from its end.
 */
const PAGE_HEAD = 24
const FLAGS_AT = 18
const EXTENT_AT = 20
const IS_BRANCH = 1
const IS_LEAF = 2
const IS_OVERFLOW = 4
const IS_META = 8
const NO_PAGE = 0xffff_ffff_ffff_ffffn

const MAGIC = 0xbeef_c0de
const LAYOUT = 2
const META_PAGES = 2
const META_SIZE = 136

/** A node's head: 6 bytes of a child's page, or 4 of a value's size and 2 of flags; then the key's size. */
const NODE_HEAD = 8
const IS_ON_PAGES = 1
const IS_TREE = 2

/** The head of a tree: flags, depth, number of entries, and root. */
const TREE_HEAD = 48
/** The flag of a tree whose keys are numbers of the machine. Only the list of free pages is one. */
const HAS_INTEGER_KEYS = 8
/** Beside it, if the last process that wrote had the option `overlappingSync`. */
const IS_OVERLAPPING = 0x1000

/** Leaves that are read, so that a large file is opened soon: 64 MiB. Of the rest, only the branches are. */
const MAX_LEAVES = 16_384

/** Throws a RangeError for a damaged file, as a read beyond the end of a page does. */
const assertSound = (holds: boolean): void => {
  if (!holds) throw new RangeError('damaged')
}

/** The bytes that a node takes on its page. */
const evenSize = (size: number): number => size + (size % 2)

/** Fewer bytes at the end of the file. */
const readAt = (file: number, at: number, length: number): Buffer => {
  const bytes = Buffer.allocUnsafe(length)
  return bytes.subarray(0, nodeFs().readSync(file, bytes, 0, length, at))
}

/** The meta page at this offset. The file has two of them, and the later transaction counts. */
const metaAt = (file: number, at: number) => {
  const page = readAt(file, at, PAGE_HEAD + META_SIZE)
  const meta = page.subarray(PAGE_HEAD)
  if (meta.length < META_SIZE || meta.readUInt32LE(0) !== MAGIC || meta.readUInt32LE(4) !== LAYOUT)
    return undefined
  const pageSize = meta.readUInt32LE(24)
  if (page.readUInt16LE(FLAGS_AT) !== IS_META || pageSize < 256 || pageSize > 65_536) return undefined
  return {
    pageSize,
    freePages: meta.subarray(24, 24 + TREE_HEAD),
    trees: meta.subarray(72, 72 + TREE_HEAD),
    mapSize: meta.readBigUInt64LE(16),
    lastPage: meta.readBigUInt64LE(120),
    transaction: meta.readBigUInt64LE(128),
  }
}

/** Whether headrace may have written a key into a tree. lmdb reads other forms of keys beyond their end. */
const isKeyOf = (tree: string, key: Buffer): boolean => {
  const isNumber = (byte = 0): boolean => byte >= 0x08 && byte < 0x18
  if (tree === 'retries') return key.length === 19 && isNumber(key[0]) && key[9] === 0 && isNumber(key[10])
  if (tree === 'fresh' || tree === 'dead') return key.length <= 9 && isNumber(key[0])
  return tree !== 'bookmarks' || (key.length === 64 && /^[0-9a-f]+$/.test(key.toString('latin1')))
}

type TakeValue = (value: Buffer, nodeFlags: number, key: Buffer) => void

/** Reads all trees of a file and throws where lmdb would fail or end the process, such as a missing page. */
const checkTrees = (file: number, size: number, meta: NonNullable<ReturnType<typeof metaAt>>): void => {
  const { pageSize, freePages, trees, lastPage, transaction } = meta
  const pageCount = Math.min(Math.floor(size / pageSize), Number(lastPage) + 1)
  const isUsed = new Uint8Array(pageCount)
  let leaves = 0

  const use = (first: number, count = 1): void => {
    const isFree = !isUsed.subarray(first, first + count).includes(1)
    assertSound(first >= META_PAGES && first + count <= pageCount && isFree)
    isUsed.fill(1, first, first + count)
  }

  const pageAt = (number: number, flags: number): Buffer => {
    const page = readAt(file, number * pageSize, pageSize)
    assertSound(page.length === pageSize && page.readBigUInt64LE(0) === BigInt(number))
    // A page of a later transaction counts as one in memory: lmdb would write to the mapped file, and end the
    // process.
    assertSound(page.readUInt16LE(FLAGS_AT) === flags && page.readBigUInt64LE(8) <= transaction)
    return page
  }

  /** A value on pages of its own. */
  const valueOn = (place: Buffer, length: number): Buffer => {
    const first = Number(place.readBigUInt64LE(0))
    const count = Math.ceil((PAGE_HEAD + length) / pageSize)
    assertSound(place.readBigUInt64LE(8) <= transaction && place.readBigUInt64LE(16) === BigInt(count))
    use(first, count)
    assertSound(pageAt(first, IS_OVERFLOW).readUInt32LE(EXTENT_AT) === count)
    return readAt(file, first * pageSize + PAGE_HEAD, length)
  }

  const walkTree = (head: Buffer, flags: number, takeValue: TakeValue): void => {
    const root = head.readBigUInt64LE(40)
    assertSound((head.readUInt16LE(4) & ~IS_OVERLAPPING) === flags)
    if (root === NO_PAGE) return
    let entries = 0

    /** Keys on the page are from `low` on, and before `high`. */
    const walkPage = (number: number, levels: number, low?: Buffer, high?: Buffer): void => {
      use(number)
      if (levels === 1 && ++leaves > MAX_LEAVES) return
      const page = pageAt(number, levels > 1 ? IS_BRANCH : IS_LEAF)
      const lower = page.readUInt16LE(EXTENT_AT)
      const upper = page.readUInt16LE(EXTENT_AT + 2)
      assertSound(lower <= upper && upper <= pageSize - PAGE_HEAD && lower >= (levels > 1 ? 4 : 2))
      let before = low
      let space = 0
      let child: number | undefined
      for (let at = PAGE_HEAD; at < PAGE_HEAD + lower; at += 2) {
        const node = PAGE_HEAD + page.readUInt16LE(at)
        const keyEnd = node + NODE_HEAD + page.readUInt16LE(node + 6)
        assertSound(node >= PAGE_HEAD + upper && keyEnd <= pageSize)
        const key = page.subarray(node + NODE_HEAD, keyEnd)
        if (flags === HAS_INTEGER_KEYS) key.reverse()
        // The first key of a branch is not used.
        const isFirst = at === PAGE_HEAD
        if (levels === 1 || !isFirst) {
          const order = before === undefined ? -1 : before.compare(key)
          assertSound(order < 0 || (order === 0 && isFirst))
        }
        if (levels > 1) {
          if (child !== undefined) walkPage(child, levels - 1, before, key)
          child = page.readUIntLE(node, 6)
          space += evenSize(keyEnd - node)
        } else {
          entries++
          const nodeFlags = page.readUInt16LE(node + 4)
          const length = page.readUInt32LE(node)
          const isElsewhere = nodeFlags === IS_ON_PAGES
          const end = keyEnd + (isElsewhere ? 24 : length)
          assertSound(end <= pageSize)
          space += evenSize(end - node)
          const value = page.subarray(keyEnd, end)
          takeValue(isElsewhere ? valueOn(value, length) : value, isElsewhere ? 0 : nodeFlags, key)
        }
        if (levels === 1 || !isFirst) before = key
      }
      // Nodes fill the page from its end, without gaps.
      assertSound(space === pageSize - PAGE_HEAD - upper)
      if (child !== undefined) walkPage(child, levels - 1, before, high)
      assertSound(before === undefined || high === undefined || before.compare(high) < 0)
    }

    walkPage(Number(root), head.readUInt16LE(6), undefined, undefined)
    assertSound(leaves > MAX_LEAVES || head.readBigUInt64LE(32) === BigInt(entries))
  }

  walkTree(trees, 0, (head, nodeFlags, name) => {
    // Another program may store values here.
    if (nodeFlags === 0) return
    assertSound(nodeFlags === IS_TREE && head.length === TREE_HEAD)
    const tree = name.toString('latin1').replace('\0', '')
    walkTree(head, 0, (_, flags, key) => assertSound(flags === 0 && isKeyOf(tree, key)))
  })
  /** Numbers of pages. A negative one is the length of a run that begins at the next one, and 0 is empty. */
  walkTree(freePages, HAS_INTEGER_KEYS, (list, nodeFlags) => {
    const count = Number(list.readBigUInt64LE(0))
    assertSound(nodeFlags === 0 && list.length >= 8 * (count + 1))
    let length = 1
    for (let at = 1; at <= count; at++) {
      const number = Number(list.readBigInt64LE(8 * at))
      if (number < 0) length = -number
      else if (number > 0) {
        assertSound(number + length <= Number(lastPage) + 1)
        if (number < pageCount) use(number, Math.min(length, pageCount - number))
        length = 1
      }
    }
  })
}

/** The fault of a file of lmdb, if any. */
export const fileFault = (path: string): FileFault | undefined => {
  const file = nodeFs().openSync(path, 'r')
  let isShort = true
  try {
    const { size } = nodeFs().fstatSync(file)
    const first = metaAt(file, 0)
    if (first === undefined) return size === 0 ? { ...SHORT, what: 'is empty' } : FOREIGN
    const second = metaAt(file, first.pageSize)
    if (second === undefined) return size < 2 * first.pageSize ? SHORT : BROKEN
    const meta = first.transaction >= second.transaction ? first : second
    const end = (meta.lastPage + 1n) * BigInt(meta.pageSize)
    // A page that was used and freed in one transaction is never written, so a sound file may end before its
    // last page.
    isShort = BigInt(size) < end
    assertSound(first.pageSize === second.pageSize && end <= meta.mapSize)
    checkTrees(file, size, meta)
    return undefined
  } catch (error) {
    // Under Jest it is an error of another realm.
    if (nameOf(error) === 'RangeError') return isShort ? SHORT : BROKEN
    throw error
  } finally {
    nodeFs().closeSync(file)
  }
}
