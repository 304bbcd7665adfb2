import { differences } from './differences.ts'
import type { Change } from './differences.ts'
import { paced } from './Paced.ts'
import type { Paced } from './Paced.ts'
import { valuesOf } from './StateReading.ts'

/**
 * Whose value of a computed trait changed between two states, and to what: the pure step that `computedTrait` obeys (CO3). Values are
 * compared as JSON data, whatever the order of their keys. A user who is gone has no value any more, which is null; a null in a state
 * means the same, so it is no change for somebody new. Users in doubt are named as what they have now.
 *
 * Order: users of the current state in its order; gone, in the order of the previous one; in doubt and in neither.
 *
 * @example
 * import { traitChanges } from 'headrace/collector'
 * const before = new Map([['ann', 3], ['bob', 5]])
 * const now = new Map([['bob', 5], ['cid', 1]])
 * for (const { userId, value } of traitChanges(before, now)) console.log(userId, value)
 * // => cid 1
 * // => ann null
 */
export const traitChanges = <V>(
  previous: ReadonlyMap<string, V>,
  current: ReadonlyMap<string, V>,
  inDoubt?: ReadonlySet<string>,
): Paced<Change<NonNullable<V> | null>> =>
  paced(
    () => differences(valuesOf<V>(), previous, current, inDoubt),
    (change) => change,
  )
