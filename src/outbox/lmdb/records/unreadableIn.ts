import type { Store } from '../oldStore.ts'
import type { StoredTotals } from './StoredTotals.ts'

/**
 * How much of what waits cannot be read. What a spoilt record counted for may be a guess; it is certain again as soon as nothing else is left:
 * then it is all that waits.
 */
export const unreadableIn = (
  { fresh, parked, drafts }: Pick<Store, 'fresh' | 'parked' | 'drafts'>,
  { waiting, unreadable }: Pick<StoredTotals, 'waiting' | 'unreadable'>,
): number => {
  const isAnyLeft = [fresh, parked, drafts].some((tree) => [...tree.getKeys({ limit: 1 })].length > 0)
  return isAnyLeft ? Math.min(unreadable, waiting) : waiting
}
