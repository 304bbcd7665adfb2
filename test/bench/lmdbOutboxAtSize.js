// What an outbox with 1,000,000 items of 1 KB needs: memory while they come, when it is opened again, while each fails once and waits for an
// hour, and while they are delivered; and how long opening takes. Each in a process of its own, the mapped file not counted. Takes some minutes.
import { fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { answerOf, withFolder } from './measure.js'

const SELF = fileURLToPath(import.meta.url)
const COUNT = 1_000_000
const AT_A_TIME = 1_000
const HOUR = 3_600_000
const MAX_MEGABYTES = 400
const MAX_MILLISECONDS = 2_000

/** This process's own memory in bytes: without the mapped file, which the system may drop. */
const ownMemory = () => Number(/RssAnon:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1_024

/** One life of the outbox. Tells how long opening and working took, how much waits, and the peak of its own memory. */
const live = async (path, task) => {
  const { lmdbOutbox } = await import('headrace/outbox/lmdb')
  const codec = { toText: (item) => item, fromText: (item) => item, sizeOf: (item) => item.length }
  const body = 'y'.repeat(1_000)
  const failure = { _tag: 'Retryable', reason: 'status', status: 503 }
  const start = performance.now()
  const outbox = lmdbOutbox({ path, codec })
  outbox.nextDue()
  const opened = performance.now()
  let peak = 0
  const measure = () => (peak = Math.max(peak, ownMemory()))

  const each = async (work) => {
    for (let done = 0; done < COUNT;) {
      const entries = await outbox.lease(Date.now(), { count: AT_A_TIME, retries: AT_A_TIME })
      if (entries.length === 0) throw new Error(`${done} were there, and not ${COUNT}`)
      await work(entries, done)
      measure()
      done += entries.length
    }
  }
  const tasks = {
    open: () => undefined,
    fill: async () => {
      for (let at = 0; at < COUNT; at += AT_A_TIME) {
        await outbox.enqueue(Array.from({ length: AT_A_TIME }, (_, of) => `${at + of} ${body}`))
        measure()
      }
    },
    // Due within an hour, in no order: as full jitter puts them.
    fail: () =>
      each((entries, done) =>
        outbox.nack(
          entries.map((entry, at) => ({
            entry: { ...entry, firstAttemptAt: Date.now(), progress: { attempts: 1, lastFailure: failure } },
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
}

if (process.argv[1] === SELF) await live(process.argv[2], process.argv[3])

const rowOf = (what, figure, unit, max) => ({ what, figure, unit, target: `<= ${max}`, met: figure <= max })

export const run = () =>
  withFolder(async (folder) => {
    const rows = []
    const runTask = async (file, task, what) => {
      const found = await answerOf(fork(SELF, [join(folder, file), task]))
      const { peak, seconds, waiting, opening } = found
      const shown = `${what}, ${Math.round(seconds)} s, ${waiting.toLocaleString('en')} wait`
      rows.push(rowOf(shown, peak / 1e6, 'MB at most', MAX_MEGABYTES))
      if (task === 'open') rows.push(rowOf(what, opening, 'ms', MAX_MILLISECONDS))
    }
    await runTask('fresh', 'fill', 'enqueued')
    await runTask('fresh', 'open', 'opened with 1,000,000 new ones')
    await runTask('fresh', 'drain', 'delivered')
    await runTask('failed', 'fill', 'enqueued')
    await runTask('failed', 'fail', 'failed once')
    await runTask('failed', 'open', 'opened with 1,000,000 retries')
    return rows
  })
