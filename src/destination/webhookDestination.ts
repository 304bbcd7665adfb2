import { isLeft } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Fault } from '../outcome/Refusal.ts'
import { ConfigError } from '../outcome/ConfigError.ts'
import type { Destination, DestinationOptions } from './Destination.ts'
import { openDestination } from './openDestination.ts'
import { partsOf } from './partsOf.ts'
import { decodeSettings } from './Settings.ts'
import type { Settings } from './Settings.ts'

const orThrow = <A>(what: string, checked: Either<ReadonlyArray<Fault>, A>): A => {
  if (isLeft(checked)) throw new ConfigError(`the ${what} of a webhook destination are wrong`, checked.left)
  return checked.right
}

/**
 * A webhook destination: each event that it accepts is posted to all its URLs, signed, until one of them has taken it, all have
 * refused it, or four hours are over (seed, part A). It accounts for every event.
 *
 * Wrong settings, and options for its requests that are wrong, throw one `ConfigError` that names every fault; `decodeSettings` says
 * the same of the settings as a value. A number that is wrong throws a `RangeError` that names it.
 *
 * @example
 * import { webhookDestination } from 'headrace/destination'
 *
 * const destination = webhookDestination({
 *   sharedSecret: 'correct horse',
 *   webhooks: [{ url: 'http://127.0.0.1:9/a' }, { url: 'http://127.0.0.1:9/b', headers: { 'X-Team': 'blue' } }],
 * }, { logger: false })
 * destination.outcomes$.subscribe(({ _tag, item }) => console.log(_tag, item.id))
 * console.log(await destination.send({ type: 'track', userId: 'u1', event: 'Signed Up', messageId: 'm1' }))
 * // => { _tag: 'Right', right: { id: 'm1' } }
 * await destination.close({ timeout: 0 })
 * // => Abandoned m1
 */
export const webhookDestination = (given: Settings, options: DestinationOptions = {}): Destination => {
  const settings = orThrow('settings', decodeSettings(given, options.egress))
  return openDestination(orThrow('options', partsOf(settings, options)), options)
}
