// The contract of Segment's end-to-end tests over the client: `--input JSON` in, one line of JSON out, exit code 0 or 1.
import { parseArgs } from 'node:util'
import { createClient, type ClientCall } from 'headrace/client'
import { loopbackReceiver } from 'headrace/testing'

interface Input {
  readonly writeKey: string
  readonly apiHost?: string
  readonly sequences: ReadonlyArray<{ readonly delayMs?: number; readonly events: ReadonlyArray<ClientCall> }>
  readonly config?: { readonly flushAt?: number; readonly flushInterval?: number; readonly timeout?: number }
}

// Without input it plays a sequence to a server of its own, which is busy at first.
const server = await loopbackReceiver(() => ({
  do: 'status',
  code: server.received.length > 1 ? 200 : 503,
}))
const example: Input = {
  writeKey: 'key',
  apiHost: server.url,
  sequences: [
    { events: [{ type: 'identify', userId: 'u1', traits: { plan: 'pro' } }] },
    { delayMs: 10, events: [{ type: 'track', userId: 'u1', event: 'Signed Up' }] },
  ],
}
const { values } = parseArgs({ options: { input: { type: 'string' } }, allowPositionals: true })
const given = values.input === undefined ? example : (JSON.parse(values.input) as Input)
const { writeKey, apiHost, sequences, config = {} } = given
const { flushAt = 15, flushInterval = 1_000, timeout = 75 } = config

const client = createClient(writeKey, {
  ...(apiHost && { endpoint: apiHost }),
  ...{ flushAt, flushAfter: flushInterval, logger: false, drainOnExit: false },
})
const failed: string[] = []
client.outcomes$.subscribe(({ _tag }) => _tag !== 'Delivered' && failed.push(_tag))
for (const { delayMs = 0, events } of sequences) {
  await new Promise((resolve) => setTimeout(resolve, delayMs))
  for (const event of events) {
    const answer = client.send(event)
    if (answer._tag === 'Left') failed.push(answer.left._tag)
  }
}
await client.close({ timeout: timeout * 1_000 })
await server.close()
const [error] = failed
const sentBatches = client.stats().batches
console.log(JSON.stringify({ success: error === undefined, ...(error && { error }), sentBatches }))
// => {"success":true,"sentBatches":2}
process.exitCode = error === undefined ? 0 : 1
