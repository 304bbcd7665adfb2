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
    await together(AT_A_TIME, (at) => outbox.append(`${done + at} ${PADDING}`))
    const entries = await outbox.take(now, AT_A_TIME, 0)
    const progress = { attempts: 1, last: { _tag: 'Retryable', reason: 'status', status: 503 } }
    await together(entries.length, (at) =>
      outbox.park({ ...entries[at], since: now, progress }, now + (((done + at) * 7_919) % (10 * MINUTE))),
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
  const count = ({ _tag }) => {
    ended[_tag] = (ended[_tag] ?? 0) + 1
  }
  await lastValueFrom(from([]).pipe(deliver(to, { outbox, clock }), tap(count)), { defaultValue: undefined })
  return { attempts, ended }
}

/** The number of the first dead letter that is kept, and how many follow. */
const letters = async () => {
  let count = 0
  let first
  for (let after, page; page === undefined || page.length === AT_A_TIME; after = page.at(-1)?.id) {
    page = await outbox.dead.list({ limit: AT_A_TIME, ...(after === undefined ? {} : { after }) })
    first ??= page[0]
    count += page.length
  }
  return { count, tag: first?.outcome._tag, attempts: first?.outcome.attempts }
}

telling({
  opened: () => ({ opened }),
  prepare,
  expire,
  letters,
  stats: () => outbox.stats(),
  close: () => outbox.close(),
})
