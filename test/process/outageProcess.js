// A destination with a folder that does what its parent sends: `outageProcess.js FOLDER URL MAX_DELAY`. It ends by a kill, or when it closes.
import {
  both,
  capDelay,
  deadline,
  exponential,
  fullJitter,
  respectRetryAfter,
} from '../../dist/policy/index.js'
import { webhookDestination } from '../../dist/destination/index.js'

const [path, url, maxDelay] = process.argv.slice(2)
const CALLERS = 512
const started = performance.now()
const destination = webhookDestination(
  { sharedSecret: 'correct horse', webhooks: [{ url }] },
  {
    outbox: { path },
    logger: false,
    concurrency: 32,
    // The standard policy with shorter delays, so that retries come again and again while the test lasts.
    retry: both(
      fullJitter(capDelay(Number(maxDelay))(exponential())),
      both(deadline(14_400_000), respectRetryAfter),
    ),
  },
)
const opening = performance.now() - started

const tasks = {
  opening: () => opening,
  send: async ({ count }) => {
    let next = 0
    const call = async () => {
      while (next < count) {
        const n = next++
        const properties = { n, padding: 'x'.repeat(800) }
        const event = { type: 'track', userId: 'u', event: 'Sold', messageId: `m${n}`, properties }
        const answer = await destination.send(event)
        if (answer._tag === 'Left') throw new Error(JSON.stringify(answer.left))
      }
    }
    await Promise.all(Array.from({ length: CALLERS }, call))
  },
  idle: () => destination.idle(),
  stats: () => destination.stats(),
  close: () => destination.close({ timeout: 0 }),
}
process.on('message', async (task) => {
  const answer = await tasks[task.do](task)
  // In KiB, mapped files included.
  process.send({ answer, peak: process.resourceUsage().maxRSS })
  if (task.do === 'close') process.disconnect()
})
