/**
 * What a codec answers of an item, looked at before the store hears of it: a counter that makes no sense would keep the store from ever being
 * opened again.
 *
 * @module
 */
import type { ItemCodec } from '../LmdbContract.ts'
import type { Weight } from './StoredTotals.ts'

const wrong = (member: string, answer: unknown, asked: string): RangeError =>
  new RangeError(`the codec's ${member} answered ${String(answer)}: it must be ${asked}`)

/**
 * What an item counts for in `maxCount`.
 *
 * @throws RangeError when it is not a whole number from 1.
 */
export const countOf = <A>(codec: Pick<ItemCodec<A>, 'countOf'>, item: A): number => {
  const count = codec.countOf === undefined ? 1 : codec.countOf(item)
  if (Number.isSafeInteger(count) && count >= 1) return count
  throw wrong('countOf', count, 'a whole number from 1')
}

/**
 * What it counts for in `maxBytes`.
 *
 * @throws RangeError when it is less than nothing, or no number. It need not be whole.
 */
export const sizeOf = <A>(codec: Pick<ItemCodec<A>, 'sizeOf'>, item: A): number => {
  const size = codec.sizeOf(item)
  // Of larger ones a sum may be none.
  if (Number.isFinite(size) && size >= 0 && size <= Number.MAX_SAFE_INTEGER) return size
  throw wrong('sizeOf', size, 'a number from 0')
}

/**
 * Both.
 *
 * @throws RangeError as those do.
 */
export const weightOf = <A>(codec: Pick<ItemCodec<A>, 'countOf' | 'sizeOf'>, item: A): Weight => ({
  count: countOf(codec, item),
  size: sizeOf(codec, item),
})

/**
 * Its text.
 *
 * @throws RangeError when it is none.
 */
export const textOf = <A>(codec: Pick<ItemCodec<A>, 'toText'>, item: A): string => {
  // Not every codec has types.
  const text: unknown = codec.toText(item)
  if (typeof text === 'string') return text
  throw wrong('toText', typeof text, 'a string')
}
