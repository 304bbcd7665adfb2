// One life of an outbox that holds very many items: `lmdbOutboxProcess.js FOLDER fill|open|park|drain COUNT`. Says as JSON how long its opening and
// its work took, how much waits in the end, and the peak of its own memory in bytes: without the mapped file, which the system may drop.
import { readFileSync } from 'node:fs'
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

let peak = 0
const measure = () => {
  const [, kib] = /RssAnon:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))
  peak = Math.max(peak, Number(kib) * 1_024)
}

const each = async (work) => {
  for (let done = 0; done < count;) {
    const entries = await outbox.lease(Date.now(), { count: AT_A_TIME, retries: AT_A_TIME })
    if (entries.length === 0) throw new Error(`${done} were there, and not ${count}`)
    await work(entries, done)
    done += entries.length
    measure()
  }
}

const lastFailure = { _tag: 'Retryable', reason: 'status', status: 503 }
const tasks = {
  open: () => undefined,
  fill: async () => {
    for (let at = 0; at < count; at += AT_A_TIME) {
      await outbox.enqueue(Array.from({ length: AT_A_TIME }, (_, of) => `${at + of} ${body}`))
      measure()
    }
  },
  // Due within an hour, in no order: as full jitter puts them.
  park: () =>
    each((entries, done) =>
      outbox.nack(
        entries.map((entry, at) => ({
          entry: { ...entry, firstAttemptAt: start, progress: { attempts: 1, lastFailure } },
          due: Date.now() + HOUR + (((done + at) * 7_919) % HOUR),
        })),
      ),
    ),
  drain: () =>
    each((entries) =>
      outbox.ack(
        entries.map((entry) => ({
          entry,
          outcome: { _tag: 'Delivered', item: entry.item, attempts: 1, receipt: { sink: 'a' } },
        })),
      ),
    ),
}
await tasks[task]()
const { waiting } = outbox.stats()
measure()
process.send({ opening: opened - start, seconds: (performance.now() - opened) / 1_000, waiting, peak })
await outbox.close()
process.disconnect()
