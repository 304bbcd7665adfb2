import type * as t from 'io-ts'
import { isLeft } from '../../core/either.ts'
import { isRecord, kindOf, type Fields } from '../../core/json.ts'
import { faultText } from '../../core/refusal.ts'
import { faultsOf } from '../../event/codecFaults.ts'
import { isBatch, isPayload } from '../../event/payload.ts'
import type { ItemCodec } from '../outbox.ts'
import type { CodecOf } from './contract.ts'

const isPlainRecord = (value: unknown): value is Fields =>
  isRecord(value) &&
  [Object.prototype, null].includes(Object.getPrototypeOf(value) as null) &&
  typeof value['toJSON'] !== 'function'

/** Where and why a value would change if written as JSON and read again; undefined if it survives. */
const changeOf = (value: unknown, path: string): string | undefined => {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined
  if (Number.isFinite(value)) return undefined
  const isList = Array.isArray(value)
  if (!isList && !isPlainRecord(value)) return `${path === '' ? 'it' : path} is ${kindOf(value)}`
  for (const [key, member] of isList ? value.entries() : Object.entries(value)) {
    // A member that is undefined is left out, which reads the same.
    if (!isList && member === undefined) continue
    const name = isList ? `[${String(key)}]` : `${path === '' ? '' : '.'}${String(key)}`
    const change = changeOf(member, path + name)
    if (change !== undefined) return change
  }
  return undefined
}

/** The same item with each inner item changed: of a payload, of its members, of a batch, or itself. */
const mapItems = (item: unknown, change: (inner: unknown) => unknown): unknown => {
  if (!isPayload(item))
    return isBatch(item) ? { ...item, items: item.items.map((each) => mapItems(each, change)) } : change(item)
  const items = item.items.map(change)
  const members = item.members?.map((member) => ({ ...member, items: member.items.map(change) }))
  return members === undefined ? { ...item, items } : { ...item, items, members }
}

/**
 * Stores items as JSON. With an io-ts codec they come back as the codec decodes them: a `Date` as a `Date`.
 * An item that JSON would change is refused with the path of the change.
 */
export const jsonCodec = <A>(codec: CodecOf<A> | undefined): ItemCodec<A> => {
  /** The size is asked first, and then the text: it is written once. The item may change later. */
  let last: { readonly item: A; readonly text: string } | undefined
  const inner = codec as t.Type<unknown, unknown> | undefined

  const toText = (item: A): string => {
    const written = last
    last = undefined
    if (written !== undefined && written.item === item) return written.text
    const plain = inner === undefined ? item : mapItems(item, encode)
    const change = changeOf(plain, '')
    if (change !== undefined)
      throw new TypeError(
        `the item would not survive JSON: ${change}; ` +
          (inner === undefined
            ? 'give the outbox an io-ts codec of it, lmdbOutbox({ path, item })'
            : 'encode() of its codec must make plain JSON of it'),
      )
    return JSON.stringify(plain)
  }

  const encode = (each: unknown): unknown => {
    if (inner?.is(each) === true) return inner.encode(each)
    throw new TypeError('the item would not be read back, by is() of its codec: mend the codec or the item')
  }
  const decode = (each: unknown): unknown => {
    const decoded = inner?.decode(each)
    if (decoded === undefined) return each
    if (!isLeft(decoded)) return decoded.right
    throw new TypeError(faultsOf(decoded.left).map(faultText).join('; '))
  }

  return {
    sizeOf: (item) => {
      last = undefined
      last = { item, text: toText(item) }
      return Buffer.byteLength(last.text)
    },
    toText,
    // The codec has decoded it; without one the caller states the type of the items.
    fromText: (text) => mapItems(JSON.parse(text), decode) as A,
  }
}
