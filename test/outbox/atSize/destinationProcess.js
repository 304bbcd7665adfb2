// A destination with an outbox on a disk, which does what it is told: `destinationProcess.js FOLDER URL CAP`. CAP is the longest pause before a
// retry, in milliseconds. It ends by a kill, or when it is told to close.
import { webhookDestination } from '../../../dist/destination/index.js'
import { both, capDelay, deadline, exponential, fullJitter, notBefore } from '../../../dist/index.js'
import { eventOf } from './events.js'
import { telling } from './telling.js'

const [path, url, cap] = process.argv.slice(2)

/** At most so many `send` at a time: they share a sync. */
const CALLERS = 512

const opening = Date.now()
const started = performance.now()
const destination = webhookDestination(
  { sharedSecret: 'correct horse', webhooks: [{ url }] },
  {
    outbox: { path },
    logger: false,
    concurrency: 32,
    // As the standard one, with shorter pauses: then what waits comes again and again while a test lasts.
    retry: both(fullJitter(capDelay(Number(cap))(exponential())), both(deadline(14_400_000), notBefore)),
  },
)
const opened = performance.now() - started

const send = async ({ from, count }) => {
  let next = from
  const call = async () => {
    while (next < from + count) {
      const answer = await destination.send(eventOf(next++))
      if (answer._tag === 'Left') throw new Error(JSON.stringify(answer.left))
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, call))
}

telling({
  opened: () => ({ opening, opened }),
  send,
  idle: () => destination.idle(),
  stats: () => destination.stats(),
  close: () => destination.close({ timeout: 0 }),
})
