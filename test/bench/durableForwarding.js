// What it costs that an accepted event survives a crash: the same events through the same destination, with its outbox in memory and
// with `outbox: { path }`, 64 of them in flight from their call to their outcome. Beside it the same by hand: undici alone, and
// undici with bare lmdb, where each event is put before its request and removed after it, and both are awaited until they are
// synced. What counts is how many come out a second: the sync is waited for and costs no CPU.
import { mkdtemp, rm } from 'node:fs/promises'
import { createHmac, createSecretKey } from 'node:crypto'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Event, toWebhookBody } from 'headrace'
import { webhookDestination } from 'headrace/destination'
import { Pool } from 'undici'
import { calls } from './events.js'
import { checkArrived, compared, startReceiver, takeTurns } from './measure.js'

const SECRET = 'correct horse'
const IN_FLIGHT = 64
const CONNECTIONS = 16

/** A case that keeps 64 events between their call and their outcome. */
const byDestination = (url, options) => {
  const inputs = calls('middle')
  const destination = webhookDestination({ sharedSecret: SECRET, webhooks: [{ url }] }, options)
  return (units) =>
    new Promise((resolve, reject) => {
      let sent = 0
      let ended = 0
      const next = () => {
        if (sent < units) destination.send(inputs[sent++ % inputs.length]).then(check)
      }
      const check = (answer) => {
        if (answer._tag === 'Left')
          reject(new Error(`an event of the bench was refused: ${answer.left._tag}`))
      }
      const subscription = destination.outcomes$.subscribe(({ _tag }) => {
        if (_tag !== 'Delivered') reject(new Error(`an event of the bench was not delivered: ${_tag}`))
        next()
        if (++ended < units) return
        subscription.unsubscribe()
        void destination.idle().then(resolve)
      })
      for (let i = 0; i < IN_FLIGHT; i++) next()
    })
}

const key = createSecretKey(SECRET, 'utf8')

/** The same bytes by hand, kept by `store` for as long as they are under way. */
const byHand = (url, { put, remove }) => {
  const { origin, pathname } = new URL(url)
  const pool = new Pool(origin, { connections: CONNECTIONS, pipelining: 1 })
  const bodies = calls('middle').map((call) => toWebhookBody(Event.decode(call).right))
  let number = 0
  const forward = async (given) => {
    const own = ++number
    const body = JSON.stringify(given)
    await put(own, body)
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'headrace/1.0',
      'x-signature': createHmac('sha1', key).update(body).digest('hex'),
    }
    const answer = await pool.request({ path: pathname, method: 'POST', headers, body })
    await answer.body.dump()
    await remove(own)
  }
  return async (units) => {
    let sent = 0
    const worker = async () => {
      while (sent < units) await forward(bodies[sent++ % bodies.length])
    }
    await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
  }
}

const nothing = () => undefined

const MEMORY = 'destination, outbox in memory'
const DISK = 'destination, outbox on the disk'
const UNDICI = 'by hand, undici alone'
const LMDB = 'by hand, undici and bare lmdb'

export const cases = {
  [MEMORY]: ({ url }) => byDestination(url, {}),
  [DISK]: ({ url, folder }) => byDestination(url, { outbox: { path: join(folder, 'ours') } }),
  [UNDICI]: ({ url }) => byHand(url, { put: nothing, remove: nothing }),
  [LMDB]: ({ url, folder }) => {
    const lmdb = createRequire(import.meta.url)('lmdb')
    const env = lmdb.open(join(folder, 'bare'), { overlappingSync: false })
    const items = env.openDB('items', { encoding: 'string' })
    return byHand(url, { put: (own, body) => items.put(own, body), remove: (own) => items.remove(own) })
  },
}

const rowOf = ({ name, cpu, rates }, base, least) => {
  const { figure, ratio, low, high } = compared(rates, base.rates)
  return {
    what: `${name}, ${cpu.toFixed(1)} µs CPU`,
    figure,
    unit: 'a second',
    ratio,
    low,
    high,
    ...(least === undefined ? {} : { target: `>= ${least}x`, met: ratio >= least }),
  }
}

export const run = async ({ rounds = 60 }) => {
  const folder = await mkdtemp(join(tmpdir(), 'headrace-bench-'))
  const receiver = await startReceiver()
  try {
    const results = await takeTurns(import.meta.url, {
      cases: Object.keys(cases),
      given: { url: receiver.urls[0], folder },
      units: 1_000,
      rounds,
      warmUp: 15,
    })
    await checkArrived(receiver, results)
    const [memory, disk, undici, lmdb] = results
    return [
      rowOf(memory, memory),
      rowOf(disk, memory, 0.6),
      rowOf(undici, undici),
      rowOf(lmdb, undici),
      { ...rowOf(disk, lmdb), what: 'destination on the disk, to lmdb by hand' },
    ]
  } finally {
    receiver.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
