import { differences } from './differences.ts'
import type { Change } from './differences.ts'
import { paced } from './Paced.ts'
import type { Paced } from './Paced.ts'
import { membership } from './StateReading.ts'

/**
 * Who joined an audience (true) and who left it (false) between two states: the pure step that `audienceSync` obeys (CO3). None for users
 * who stayed what they were, unless they are in doubt: those are named as what they are now. Applied to the previous
 * state the changes give the current one, and going over any states in between has the same sum.
 *
 * Order: joined, in the order of the current state; left, in the order of the previous one; in doubt and in neither.
 *
 * @example
 * import { membershipChanges } from 'headrace/collector'
 * for (const { userId, value } of membershipChanges(new Set(['ann', 'bob']), new Set(['bob', 'cid'])))
 *   console.log(userId, value)
 * // => cid true
 * // => ann false
 */
export const membershipChanges = (
  previous: ReadonlySet<string>,
  current: ReadonlySet<string>,
  inDoubt?: ReadonlySet<string>,
): Paced<Change<boolean>> =>
  paced(
    () => differences(membership, previous, current, inDoubt),
    (change) => change,
  )
