import { isLeft } from 'fp-ts/lib/Either.js'
import { withTimeout } from '../sink/timeout.ts'
import { ConfigError } from '../core/refusal.ts'
import { ingestion } from '../http/ingestion.ts'
import type { AnyEvents, AnyTraits, Client, EventTypes, Traits } from './Client.ts'
import type { ClientOptions } from './ClientOptions.ts'
import { openClient } from './openClient.ts'
import { settingsOf } from './settingsOf.ts'

/**
 * A client for one source: it takes calls, checks and writes them at once, sends them in batches to a server that speaks the public
 * tracking convention, and accounts for every message (seed, part B). Give it the types of your events, and `track` holds you to them.
 *
 * Defaults: batches of 20, every 5 s, of at most 500,000 bytes; one request at a time, so order is kept; 10 s for a request; retries
 * with backoff until 4 h; at most 10,000 messages or 32 MiB in keeping, in memory unless `outbox` names a folder. Its timers do not hold the process: at the end of the program it
 * sends what waits, for at most 10 s, and lets the process go (CL7).
 *
 * @throws ConfigError naming everything that is wrong with the write key and the options, and no value.
 * @throws OutboxError when the folder of `outbox: { path }` cannot be opened: `reason` says why, the message says the way out.
 *
 * @example
 * import { createClient } from 'headrace/client'
 * import { loopbackReceiver } from 'headrace/testing'
 *
 * const receiver = await loopbackReceiver() // stands for your ingestion endpoint
 * const client = createClient<{ 'Signed Up': { plan: string } }>('a write key', { endpoint: receiver.url })
 * console.log(client.track({ userId: 'u1', event: 'Signed Up', properties: { plan: 'pro' }, messageId: 'm1' }))
 * // => { _tag: 'Right', right: { id: 'm1' } }
 * const { accepted, delivered } = await client.flush()
 * console.log(accepted, delivered, receiver.received[0]?.path) // => 1 1 /v1/batch
 * await client.close()
 * await receiver.close()
 */
export const createClient = <E extends EventTypes = AnyEvents, T extends Traits = AnyTraits>(
  writeKey: string,
  options: ClientOptions = {},
): Client<E, T> => {
  const checked = settingsOf(writeKey, options)
  if (isLeft(checked)) throw new ConfigError('a client cannot be made like this', checked.left)
  const { settings, requests } = checked.right
  const { endpoint, writeKey: key, ...how } = requests
  const { sink } = options
  return openClient<E, T>(
    settings,
    sink === undefined
      ? { sinkOn: (clock) => ingestion(endpoint, key, { ...how, clock, holds: false }), closes: true }
      : { sinkOn: (clock) => withTimeout(settings.timeout, { clock })(sink), closes: false },
  )
}
