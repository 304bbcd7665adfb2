// A client with a folder, which does what it is told: `backlogProcess.js FOLDER URL`. It ends by a kill, or when it is told to close.
import { createClient } from '../../../dist/client/index.js'
import { both, capDelay, deadline, exponential } from '../../../dist/index.js'
import { telling } from '../../outbox/atSize/telling.js'

const [path, url] = process.argv.slice(2)

const started = performance.now()
const client = createClient('a key', {
  endpoint: url,
  outbox: { path },
  logger: false,
  drainOnExit: false,
  // As the standard one, with shorter pauses.
  retry: both(capDelay(500)(exponential({ base: 100 })), deadline(14_400_000)),
})
const opened = performance.now() - started

/** So many calls before the event loop has its turn. */
const BURST = 500

const track = async ({ count }) => {
  let [number, full] = [0, 0]
  while (number < count) {
    for (let one = 0; one < BURST && number < count; one++) {
      const { _tag } = client.track({
        userId: `u${number % 1_000}`,
        event: 'Seen',
        messageId: `m-${number}`,
        properties: { page: 'a page of the site', number },
      })
      if (_tag === 'Right') number++
      else {
        full++
        await client.ready()
      }
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { isKept: await client.persisted(), full }
}

telling({
  opened: () => opened,
  track,
  stats: () => client.stats(),
  close: () => client.close({ timeout: Infinity }),
})
