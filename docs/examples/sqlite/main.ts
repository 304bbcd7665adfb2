import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { createClient } from 'headrace/client'
import { webhookDestination } from 'headrace/destination'
import { loopbackReceiver } from 'headrace/testing'
import { sqliteOutbox } from './sqliteOutbox.ts'

const folder = mkdtempSync(`${tmpdir()}/sqlite-`)
const receiver = await loopbackReceiver()
const call = { type: 'track', userId: 'u1', event: 'Sold', messageId: 'm1' } as const

const events = sqliteOutbox(`${folder}/events.db`)
const destination = webhookDestination(
  { webhooks: [{ url: receiver.url }] },
  { outbox: events, orderBy: ({ messageId }) => messageId, logger: false },
)
await destination.send(call)
console.log((await destination.idle()).delivered) // => 1
await destination.close()

const client = createClient('a key', {
  endpoint: receiver.url,
  outbox: sqliteOutbox(`${folder}/messages.db`),
})
client.send(call)
console.log((await client.flush()).delivered) // => 1
await client.close()

try {
  createClient('a key', { endpoint: receiver.url, outbox: events })
} catch (error) {
  console.log(String(error)) // => ConfigError: Invalid options: outbox was not made, …events.db holds events…
}
await receiver.close()
rmSync(folder, { recursive: true })
