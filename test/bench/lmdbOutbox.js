// The outbox on a disk beside bare lmdb with the same batching: 512 items in one transaction, each answered when it has been
// synced. Compared are items a second, in turns, because both wait for the disk. Told to append, bare lmdb fills its
// pages, as ours does; that is the most that can be had, and has no target.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { lmdbOutbox } from 'headrace/outbox/lmdb'

const AT_A_TIME = 512
const TURNS = 40
const properties = { note: 'x'.repeat(930) }
const text = JSON.stringify({ type: 'track', userId: 'u1', event: 'Signed Up', properties })

const codec = { toText: (item) => item, fromText: (item) => item, sizeOf: (item) => item.length }
const outcomeOf = (item) => ({ _tag: 'Delivered', item, attempts: 1, receipt: { sink: 'a', status: 200 } })

const bare = (options) => (path) => {
  const lmdb = createRequire(import.meta.url)('lmdb')
  const env = lmdb.open(path, { overlappingSync: false, encoding: 'string' })
  const items = env.openDB('items', { encoding: 'string' })
  let number = 0
  return {
    enqueue: () =>
      env.transaction(() => {
        for (let at = 0; at < AT_A_TIME; at++) items.put(++number, text, options)
      }),
    leaseAndAck: () => {
      const leased = [...items.getRange({ start: 0, limit: AT_A_TIME })]
      return env.transaction(() => {
        for (const { key } of leased) items.remove(key)
      })
    },
  }
}

const ours = (path) => {
  const outbox = lmdbOutbox({ path, codec })
  const items = Array.from({ length: AT_A_TIME }, () => text)
  return {
    enqueue: () => outbox.enqueue(items),
    leaseAndAck: async () => {
      const leased = await outbox.lease(0, { count: AT_A_TIME, retries: 0 })
      await outbox.ack(leased.map((entry) => ({ entry, outcome: outcomeOf(entry.item) })))
    },
  }
}

const stores = { 'bare lmdb': bare(), 'bare lmdb, full pages': bare({ append: true }), headrace: ours }
const opened = new Map()

/** A turn of one task; both tasks of a store share its file, and take turns of equal length. */
const task = (store, what) => async (given) => {
  if (!opened.has(store)) opened.set(store, stores[store](join(given.folder, store)))
  return async () => {
    for (let turn = 0; turn < TURNS; turn++) await opened.get(store)[what]()
  }
}

const NAMES = Object.keys(stores)
export const cases = Object.fromEntries(
  ['enqueue', 'leaseAndAck'].flatMap((what) => NAMES.map((name) => [`${what}, ${name}`, task(name, what)])),
)

export const plans = [
  {
    cases: Object.keys(cases),
    units: AT_A_TIME * TURNS,
    rounds: 9,
    warmUp: 1,
    // What is leased must have been enqueued before.
    inOrder: true,
    bases: Object.fromEntries(NAMES.map((store) => [`leaseAndAck, ${store}`, 'leaseAndAck, bare lmdb'])),
    limits: { 'enqueue, headrace': 1.18, 'leaseAndAck, headrace': 1.33 },
  },
]
