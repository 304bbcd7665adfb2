import { ConfigError } from '../../outcome/ConfigError.ts'
import { audienceSync } from './audienceSync.ts'
import type { AudienceOperator, Members } from './audienceSync.ts'
import type { SyncOptions } from './SyncOptions.ts'
import { traitNamesOf } from './traitNamesOf.ts'

/**
 * An `audienceSync` for each of several audiences, in their order, once it is sure that no two of them become the same trait (CO3). Each
 * is an operator of its own, so that every audience is computed, synced and stored in its own rhythm. Computed traits share the
 * names: ask `traitNamesOf` for all together.
 *
 * @throws ConfigError that names the audiences whose names are empty or collide.
 *
 * @example
 * import { audienceSyncs } from 'headrace/collector'
 * const [vip, trial] = audienceSyncs([{ name: 'VIP Customers' }, { name: 'Trial' }])
 * console.log(typeof vip, typeof trial) // => function function
 * try {
 *   audienceSyncs([{ name: 'New users' }, { name: 'newUsers' }])
 * } catch (error) {
 *   console.log(String(error))
 * }
 * // => ConfigError: audienceSyncs: [1].name becomes the same trait as [0]: rename one of them
 */
export const audienceSyncs = <const L extends ReadonlyArray<SyncOptions<Members>>>(
  audiences: L,
): { readonly [K in keyof L]: AudienceOperator } => {
  const traits = traitNamesOf(audiences.map(({ name }) => name))
  if (traits._tag === 'Left') {
    const faults = traits.left.map(({ path, message }) => ({ path: `${path}.name`, message }))
    throw new ConfigError('audienceSyncs', faults)
  }
  // `map` keeps the length and the places of a tuple, which its type does not say.
  return audiences.map(audienceSync) as unknown as { readonly [K in keyof L]: AudienceOperator }
}
