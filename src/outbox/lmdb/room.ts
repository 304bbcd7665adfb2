import type { Full } from '../../core/refusal.ts'
import type { StoredTotals, Weight } from './records/StoredTotals.ts'

/** The bounds of an outbox, and what counts against them. */
export interface RoomOptions {
  readonly maxCount: number
  readonly maxBytes: number
  /** What is in the store. */
  readonly totals: () => Pick<StoredTotals, 'waiting' | 'bytes'>
}

/** How much may still come. What is on its way into the store counts too, so that the bounds hold for what comes at the same time. */
export interface Room {
  /** The bound that an item of this weight would break. */
  readonly boundFor: (weight: Weight) => Full['bound'] | undefined
  /** Counts an item as on its way. */
  readonly hold: (weight: Weight) => void
  /** It has arrived, or it never will. */
  readonly letGo: (weight: Weight) => void
}

/** The room within two bounds. */
export const room = ({ maxCount, maxBytes, totals }: RoomOptions): Room => {
  const coming = { count: 0, bytes: 0 }
  return {
    boundFor: ({ count, size }) => {
      const { waiting, bytes } = totals()
      if (waiting + coming.count + count > maxCount) return 'count'
      return bytes + coming.bytes + size > maxBytes ? 'bytes' : undefined
    },
    hold: ({ count, size }) => {
      coming.count += count
      coming.bytes += size
    },
    letGo: ({ count, size }) => {
      coming.count -= count
      coming.bytes -= size
    },
  }
}
