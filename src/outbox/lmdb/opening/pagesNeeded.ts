import { readSync } from 'node:fs'

const FLAGS_AT = 18
const LOWER_AT = 20
const PAGES_AT = 20
const PAGE_HEAD = 24
const IS_BRANCH = 0x01
const IS_LEAF = 0x02
const IS_OVERFLOW = 0x04
const IS_OF_DUPLICATES = 0x20
/** Of a node: its data stands on pages of its own. */
const IS_BIG = 0x01
/** Of a node: its data is the head of another tree. */
const IS_TREE = 0x02
const NODE_HEAD = 8
const ROOT_OF_TREE_AT = 40
const NO_PAGE = 0xffff_ffff_ffff_ffffn

/** A file of lmdb, and where its trees begin. */
export interface PagesNeededOptions {
  readonly file: number
  readonly pageSize: number
  /** How many whole pages it has. */
  readonly pages: number
  readonly roots: ReadonlyArray<bigint>
}

const nodesOf = (page: Buffer): ReadonlyArray<Buffer> => {
  const count = (page.readUInt16LE(LOWER_AT) - PAGE_HEAD) >> 1
  return Array.from({ length: Math.max(0, count) }, (_, at) =>
    page.subarray(page.readUInt16LE(PAGE_HEAD + 2 * at)),
  )
}

const childOf = (node: Buffer): bigint =>
  BigInt(node.readUInt16LE(0)) | (BigInt(node.readUInt16LE(2)) << 16n) | (BigInt(node.readUInt16LE(4)) << 32n)

const dataOf = (node: Buffer): Buffer => node.subarray(NODE_HEAD + node.readUInt16LE(6))

/**
 * How many pages a file of lmdb must have for all that its trees refer to; undefined if a page is none of a tree. It reads every page in
 * use, so it is for the rare file that is shorter than it may grow.
 */
export const pagesNeeded = ({ file, pageSize, pages, roots }: PagesNeededOptions): number | undefined => {
  const page = Buffer.alloc(pageSize)
  const ahead = roots.filter((root) => root !== NO_PAGE)
  let needed = 2
  let seen = 0

  const load = (number: bigint): boolean =>
    number < BigInt(pages) && readSync(file, page, 0, pageSize, Number(number) * pageSize) === pageSize

  /** What a node of a leaf refers to. */
  const follow = (node: Buffer): void => {
    const flags = node.readUInt16LE(4)
    if ((flags & IS_BIG) !== 0) ahead.push(dataOf(node).readBigUInt64LE(0))
    if ((flags & IS_TREE) === 0) return
    const root = dataOf(node).readBigUInt64LE(ROOT_OF_TREE_AT)
    if (root !== NO_PAGE) ahead.push(root)
  }

  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    if (!load(next)) return Number(next) + 1
    // No page stands in two places, unless they are damaged.
    if (++seen > pages) return undefined
    needed = Math.max(needed, Number(next) + 1)
    const flags = page.readUInt16LE(FLAGS_AT)
    if ((flags & IS_OVERFLOW) !== 0) {
      needed = Math.max(needed, Number(next) + page.readUInt32LE(PAGES_AT))
    } else if ((flags & IS_BRANCH) !== 0) {
      ahead.push(...nodesOf(page).map(childOf))
    } else if ((flags & IS_LEAF) === 0 || (flags & IS_OF_DUPLICATES) !== 0) {
      return undefined
    } else {
      for (const node of nodesOf(page)) follow(node)
    }
  }
  return needed
}
