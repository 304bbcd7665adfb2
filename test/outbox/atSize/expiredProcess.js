// An outbox whose entries expire while nobody runs, which does what it is told: `expiredProcess.js FOLDER KEEPDEAD AHEAD`. AHEAD is by how many
// milliseconds its clock is ahead of the machine's: so long nobody ran.
import { from, lastValueFrom, tap } from 'rxjs'
import { deliver, sink } from '../../../dist/index.js'
import { lmdbOutbox } from '../../../dist/outbox/lmdb/index.js'
import { telling } from './telling.js'

const [path, keepDead, ahead] = process.argv.slice(2)
const MINUTE = 60_000
const AT_A_TIME = 1_000
const PADDING = 'x'.repeat(1_000)

const clock = {
  now: () => Date.now() + Number(ahead),
  monotonic: () => performance.now(),
  schedule: (delay, task) => {
    const timer = setTimeout(task, delay)
    return () => clearTimeout(timer)
  },
}
/** The numbers of the items in the order in which they ended. */
const order = []
const numberOf = (item) => Number(item.slice(0, item.indexOf(' ')))
const codec = { toText: (item) => item, fromText: (item) => item, sizeOf: (item) => item.length }

const started = performance.now()
const outbox = lmdbOutbox({ path, codec, keepDead: Number(keepDead), clock })
outbox.nextDue()
const opened = performance.now() - started

const together = (count, work) => Promise.all(Array.from({ length: count }, (_, at) => work(at)))

/** Each was tried once, and waits for a moment in the next ten minutes, in no order: as full jitter puts them. */
const prepare = async ({ count }) => {
  for (let done = 0; done < count; done += AT_A_TIME) {
    const now = clock.now()
    await together(AT_A_TIME, (at) => outbox.enqueue([`${done + at} ${PADDING}`]))
    const entries = await outbox.lease(now, { count: AT_A_TIME, retries: 0 })
    const progress = { attempts: 1, last: { _tag: 'Retryable', reason: 'status', status: 503 } }
    await together(entries.length, (at) =>
      outbox.nack([
        {
          entry: { ...entries[at], firstAttemptAt: now, progress },
          due: now + (((done + at) * 7_919) % (10 * MINUTE)),
        },
      ]),
    )
  }
}

/** Delivers what there is, until nothing waits. */
const expire = async () => {
  const ended = {}
  let attempts = 0
  const to = sink('receiver', async () => {
    attempts++
  })
  const count = ({ _tag, item }) => {
    ended[_tag] = (ended[_tag] ?? 0) + 1
    order.push(numberOf(item))
  }
  await lastValueFrom(from([]).pipe(deliver(to, { outbox, clock }), tap(count)), { defaultValue: undefined })
  return { attempts, ended }
}

/** How many dead letters a page has, whether they are those that ended after so many others, and what they say. */
const letters = async ({ limit, skip }) => {
  const page = await outbox.dead.list({ limit })
  return {
    count: page.length,
    inOrder: page.every(({ entry }, at) => numberOf(entry.item) === order[skip + at]),
    says: [...new Set(page.map(({ outcome }) => `${outcome._tag} ${outcome.attempts}`))],
  }
}

telling({
  opened: () => ({ opened }),
  prepare,
  expire,
  letters,
  stats: () => outbox.stats(),
  close: () => outbox.close(),
})
