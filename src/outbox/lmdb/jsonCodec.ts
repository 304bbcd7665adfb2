import type * as t from 'io-ts'
import { isLeft } from 'fp-ts/lib/Either.js'
import { isRecord, kindOf } from '../../core/json.ts'
import { faultsOf } from '../../event/codecFaults.ts'
import { isBatch, isPayload } from '../../event/payload.ts'
import type { CodecOf, ItemCodec } from './contract.ts'

/** Where a value would change if it were written as JSON and read again, and why; undefined if it survives. */
const changeOf = (value: unknown, path: string): string | undefined => {
  const within = path === '' ? 'it' : path
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : `${within} is ${kindOf(value)}`
  if (Array.isArray(value)) return firstChange([...value.entries()], (at) => `${path}[${String(at)}]`)
  const isPlain = isRecord(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value) as null)
  if (!isPlain || typeof value['toJSON'] === 'function') return `${within} is ${kindOf(value)}`
  // A member that is undefined is left out, which reads the same.
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return firstChange(members, (key) => (path === '' ? key : `${path}.${key}`))
}

const firstChange = <K>(
  members: ReadonlyArray<readonly [K, unknown]>,
  pathOf: (key: K) => string,
): string | undefined => {
  for (const [key, member] of members) {
    const change = changeOf(member, pathOf(key))
    if (change !== undefined) return change
  }
  return undefined
}

/** The same item with each of what the codec is for changed: the items of a payload, of its members, of a batch, or the item itself. */
const mapItems = (item: unknown, change: (inner: unknown) => unknown): unknown => {
  if (!isPayload(item))
    return isBatch(item) ? { ...item, items: item.items.map((each) => mapItems(each, change)) } : change(item)
  const items = item.items.map(change)
  return item.members === undefined
    ? { ...item, items }
    : {
        ...item,
        items,
        members: item.members.map((member) => ({ ...member, items: member.items.map(change) })),
      }
}

/**
 * Stores items as JSON. With an io-ts codec they come back as the codec decodes them: a `Date` as a `Date`. An item that JSON would change is
 * refused with the path of what would change.
 */
export const jsonCodec = <A>(codec: CodecOf<A> | undefined): ItemCodec<A> => {
  /** The size is asked first, and then the text of the same item: it is written once. */
  let last: { readonly item: A; readonly text: string } | undefined
  // What the codec is for is checked when it is decoded; on the way in the types hold.
  const inner = codec as t.Type<unknown, unknown> | undefined

  const toText = (item: A): string => {
    if (last !== undefined && last.item === item) return last.text
    const plain = inner === undefined ? item : mapItems(item, (each) => inner.encode(each))
    const change = changeOf(plain, '')
    if (change !== undefined)
      throw new TypeError(
        `the item would not survive JSON: ${change}; give the outbox an io-ts codec of it, lmdbOutbox({ path, item })`,
      )
    last = { item, text: JSON.stringify(plain) }
    return last.text
  }

  const decode = (each: unknown): unknown => {
    const decoded = inner?.decode(each)
    if (decoded === undefined) return each
    if (isLeft(decoded))
      throw new TypeError(
        faultsOf(decoded.left)
          .map(({ path, message }) => `${path} ${message}`)
          .join('; '),
      )
    return decoded.right
  }

  return {
    sizeOf: (item) => Buffer.byteLength(toText(item)),
    toText,
    // The codec has decoded it; without one the caller says what the folder holds.
    fromText: (text) => mapItems(JSON.parse(text), decode) as A,
  }
}
