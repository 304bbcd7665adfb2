/**
 * How much a test run tries, from one variable: RUNS=100 (`npm test`), 1000 (`npm run test:full`), 10000 (`npm run test:long`).
 *
 * @module
 */

export const RUNS = Number(process.env['RUNS'] ?? '100')

export type Profile = 'short' | 'full' | 'long'
export const profile: Profile = RUNS >= 10_000 ? 'long' : RUNS >= 1_000 ? 'full' : 'short'

/** The size of something other than a property, such as kills or events, in each profile. */
export const sized = (sizes: Readonly<Record<Profile, number>>): number => sizes[profile]

/** Properties that are dear run `share` times as often as the others, at least once. */
export const runs = (share = 1): number => Math.max(1, Math.round(RUNS * share))
