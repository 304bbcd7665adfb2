// A host that tracks in a tight loop until it is killed: `trackingProcess.js FOLDER URL LIFE MOST`. Whenever `persisted()` has said true it tells up
// to which number, a line at once. LIFE may be `last`: then it tracks nothing, and closes when everything has ended.
import { writeSync } from 'node:fs'
import { createClient } from '../../../dist/client/index.js'
import { both, capDelay, deadline, exponential } from '../../../dist/index.js'

const [path, url, life, most] = process.argv.slice(2)
const say = (said) => writeSync(1, `${JSON.stringify(said)}\n`)

const client = createClient('a key', {
  endpoint: url,
  outbox: { path },
  logger: false,
  drainOnExit: false,
  flushAfter: 20,
  retry: both(capDelay(50)(exponential({ base: 5 })), deadline(14_400_000)),
})
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

const track = async () => {
  for (let number = 0; number < Number(most);) {
    const burst = 1 + (number % 29)
    for (let one = 0; one < burst; one++) {
      const { _tag } = client.track({ userId: 'u1', event: 'Seen', messageId: `${life}-${++number}` })
      if (_tag !== 'Right') throw new Error('it was turned away')
    }
    const upTo = number
    void client.persisted().then((isKept) => {
      if (isKept) say({ upTo })
    })
    await nextTurn()
  }
}

if (life === 'last') {
  const { totals } = await client.close({ timeout: Infinity })
  say({ totals })
} else {
  // It does not end by itself.
  setInterval(() => undefined, 1_000)
  await track()
}
