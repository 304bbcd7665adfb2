// Fills an outbox until nothing more is taken, then ends every second item, and says what happened: `fullDiskProcess.js FOLDER`.
import { writeSync } from 'node:fs'
import { lmdbOutbox } from '../../../dist/outbox/lmdb/index.js'
import { codec, keyOf, textOf } from './killedItems.js'

const path = process.argv[2]
const MOST = 100_000
const unhandled = []
process.on('unhandledRejection', (error) => unhandled.push(String(error)))

const outbox = lmdbOutbox({ path, codec })
const accepted = []
const refusals = new Set()
for (let at = 0; at < MOST && refusals.size === 0; at += 64) {
  const keys = Array.from({ length: 64 }, (_, of) => `5-${at + of}`)
  const answers = await Promise.allSettled(keys.map((key) => outbox.append(textOf(key))))
  for (const [of, { status, reason }] of answers.entries()) {
    if (status === 'fulfilled') accepted.push(keys[of])
    else refusals.add(reason.message)
  }
}
const { waiting } = outbox.stats()

const taken = (await outbox.take(0, MOST, 0)).filter((_, at) => at % 2 === 0)
const ended = []
const failures = new Set()
while (taken.length > 0) {
  const some = taken.splice(0, 100)
  const ends = some.map(async (entry) => {
    await outbox.end(entry, { _tag: 'Delivered', item: entry.item, attempts: 1, receipt: { sink: 'a' } })
    ended.push(keyOf(entry.item))
  })
  for (const { status, reason } of await Promise.allSettled(ends))
    if (status === 'rejected') failures.add(reason.message)
}
await outbox.close()
writeSync(
  1,
  JSON.stringify({ accepted, waiting, refusals: [...refusals], ended, failures: [...failures], unhandled }),
)
