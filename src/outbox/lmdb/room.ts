import type { Full } from '../../outcome/Refusal.ts'
import type { StoredTotals } from './records/StoredTotals.ts'

/** The bounds of an outbox, and what counts against them. */
export interface RoomOptions {
  readonly maxCount: number
  readonly maxBytes: number
  /** What is in the store. */
  readonly totals: () => Pick<StoredTotals, 'waiting' | 'bytes'>
}

/** How much may still come. What is on its way into the store counts too, so that the bounds hold for what comes at the same time. */
export interface Room {
  /** The bound that an item of this size would break. */
  readonly boundFor: (size: number) => Full['bound'] | undefined
  /** Counts an item as on its way. */
  readonly hold: (size: number) => void
  /** It has arrived, or it never will. */
  readonly letGo: (size: number) => void
}

/** The room within two bounds. */
export const room = ({ maxCount, maxBytes, totals }: RoomOptions): Room => {
  const coming = { count: 0, bytes: 0 }
  return {
    boundFor: (size) => {
      const { waiting, bytes } = totals()
      if (waiting + coming.count >= maxCount) return 'count'
      return bytes + coming.bytes + size > maxBytes ? 'bytes' : undefined
    },
    hold: (size) => {
      coming.count++
      coming.bytes += size
    },
    letGo: (size) => {
      coming.count--
      coming.bytes -= size
    },
  }
}
