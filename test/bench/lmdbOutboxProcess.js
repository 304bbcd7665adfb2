// One life of an outbox that holds very many items: `lmdbOutboxProcess.js FOLDER fill|open|park|drain COUNT`. Says as JSON how long its opening and
// its work took, how much waits in the end, and the peak of its resident memory, mapped files included, in bytes.
import { lmdbOutbox } from '../../dist/outbox/lmdb/index.js'

const [path, task, most] = process.argv.slice(2)
const AT_A_TIME = 1_000
const HOUR = 3_600_000
const count = Number(most)
const body = 'y'.repeat(1_000)
const codec = { toText: (item) => item, fromText: (item) => item, sizeOf: (item) => item.length }

const start = performance.now()
const outbox = lmdbOutbox({ path, codec })
outbox.nextDue()
const opened = performance.now()

const each = async (work) => {
  for (let done = 0; done < count;) {
    const entries = await outbox.take(Date.now(), AT_A_TIME, AT_A_TIME)
    if (entries.length === 0) throw new Error(`${done} were there, and not ${count}`)
    await Promise.all(entries.map((entry, at) => work(entry, done + at)))
    done += entries.length
  }
}

const failure = { _tag: 'Retryable', reason: 'status', status: 503 }
const tasks = {
  open: () => undefined,
  fill: async () => {
    for (let at = 0; at < count; at += AT_A_TIME)
      await Promise.all(Array.from({ length: AT_A_TIME }, (_, of) => outbox.append(`${at + of} ${body}`)))
  },
  // Due within an hour, in no order: as full jitter puts them.
  park: () =>
    each((entry, at) =>
      outbox.park(
        { ...entry, since: start, progress: { attempts: 1, last: failure } },
        Date.now() + HOUR + ((at * 7_919) % HOUR),
      ),
    ),
  drain: () =>
    each((entry) =>
      outbox.end(entry, { _tag: 'Delivered', item: entry.item, attempts: 1, receipt: { sink: 'a' } }),
    ),
}
await tasks[task]()
const { waiting } = outbox.stats()
const peak = process.resourceUsage().maxRSS * 1_024
process.send({ opening: opened - start, seconds: (performance.now() - opened) / 1_000, waiting, peak })
await outbox.close()
process.disconnect()
