// A process that works an outbox with many callers until it is killed: `killedProcess.js FOLDER LIFE CALLERS`. On stdout it says
// what it is about to do, in small letters, and what the outbox has answered, in capitals. Every line is written at once.
import { writeSync } from 'node:fs'
import { lmdbOutbox } from '../../../dist/outbox/lmdb/index.js'
import { codec, textOf } from './killedItems.js'

const [path, life, callers] = process.argv.slice(2)
const say = (...words) => writeSync(1, `${words.join(' ')}\n`)

const outbox = lmdbOutbox({ path, codec, keepDead: 1_000_000 })
const now = () => Date.now()
let appended = 0
const taken = []

const append = async () => {
  const key = `${life}-${++appended}`
  say('a', key)
  const answer = await outbox.append(textOf(key))
  say('A', key, answer.right.id)
}

const next = async () => {
  if (taken.length === 0) taken.push(...(await outbox.take(now(), 20, 10)))
  return taken.shift()
}

const park = async ({ id, item, progress }) => {
  const attempts = (progress?.attempts ?? 0) + 1
  say('p', id, attempts)
  await outbox.park(
    { id, item, since: 7, progress: { attempts, last: { _tag: 'Retryable', reason: 'status' } } },
    now() + (attempts % 3),
  )
  say('P', id)
}

const end = async (entry, how) => {
  say('e', entry.id, how)
  const outcome =
    how === 'delivered'
      ? { _tag: 'Delivered', item: entry.item, attempts: 1, receipt: { sink: 'a' } }
      : { _tag: 'Rejected', item: entry.item, attempts: 1, failure: { _tag: 'Refused', reason: 'status' } }
  await outbox.end(entry, outcome)
  say('E', entry.id)
}

const call = async (number) => {
  for (let turn = number; ; turn++) {
    await append()
    const entry = await next()
    if (entry === undefined) continue
    if (turn % 3 === 0) await park(entry)
    else await end(entry, turn % 3 === 1 ? 'delivered' : 'rejected')
  }
}

for (let number = 0; number < Number(callers); number++) void call(number)
