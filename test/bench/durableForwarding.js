// What it costs that an accepted event survives a crash: the same events through the same destination, with its outbox in memory and
// with `outbox: { path }`, 64 of them in flight. Beside it the same by hand: undici alone, and undici with bare lmdb, where each event is
// put before its request and removed after it, and both wait for the sync. Compared are events a second: a sync costs no CPU.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { byDestination, byPool, byPromise } from './flows.js'
import { inBursts, senders } from './senders.js'

const IN_FLIGHT = 64

const byLmdb = ({ url, folder }) => {
  const env = createRequire(import.meta.url)('lmdb').open(join(folder, 'bare'), { overlappingSync: false })
  const items = env.openDB('items', { encoding: 'string' })
  const send = byPool(url)
  let number = 0
  return byPromise(IN_FLIGHT, async (body) => {
    const own = ++number
    await items.put(own, body)
    await send(body)
    await items.remove(own)
  })
}

const [CLIENT, STORED] = ['client, outbox in memory', 'client, outbox on the disk']
const [MEMORY, DISK] = ['destination, outbox in memory', 'destination, outbox on the disk']
const [UNDICI, LMDB] = ['by hand, undici alone', 'by hand, undici and bare lmdb']

/** A client in bursts of 2,000, 20 a batch. */
const byClient = async (url, outbox) =>
  inBursts(await senders.headrace({ url, size: 20, connections: 1, outbox }), 2_000)

export const cases = {
  [MEMORY]: ({ url }) => byDestination(url, IN_FLIGHT),
  [DISK]: ({ url, folder }) => byDestination(url, IN_FLIGHT, { outbox: { path: join(folder, 'ours') } }),
  [UNDICI]: ({ url }) => byPromise(IN_FLIGHT, byPool(url)),
  [LMDB]: byLmdb,
  [CLIENT]: ({ url }) => byClient(url),
  [STORED]: ({ url, folder }) => byClient(url, { path: join(folder, 'client') }),
}

// After some 100,000 events the figures stand still. Before, the compiler works too: up to 10 % more, and not the same in each tree.
const plan = { ports: 1, requests: 1, units: 1_000, rounds: 60, warmUp: 100 }
export const plans = [
  {
    ...plan,
    cases: [MEMORY, DISK, UNDICI, LMDB],
    rates: true,
    atLeast: true,
    bases: { [UNDICI]: UNDICI, [LMDB]: UNDICI },
    limits: { [DISK]: 0.6 },
  },
  { ...plan, what: 'CPU: ', cases: [DISK, MEMORY], atLeast: true, limits: { [MEMORY]: 0.78 } },
  { ...plan, what: 'CPU: ', cases: [LMDB, UNDICI] },
  { ...plan, cases: [CLIENT, STORED], requests: 1 / 20, units: 4_000, apart: true },
]
