// What it costs that an accepted event survives a crash: the same events through the same destination, with its outbox in memory and
// with `outbox: { path }`, 64 of them in flight. Beside it the same by hand: undici alone, and undici with bare lmdb, where each event is
// put before its request and removed after it, and both wait for the sync. Compared are events a second: a sync costs no CPU.
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { byDestination, byPool, byPromise } from './flows.js'
import { checkArrived, rateRow, startReceiver, takeTurns } from './measure.js'

const IN_FLIGHT = 64

const byLmdb = ({ url, folder }) => {
  const lmdb = createRequire(import.meta.url)('lmdb')
  const env = lmdb.open(join(folder, 'bare'), { overlappingSync: false })
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

export const cases = {
  'destination, outbox in memory': ({ url }) => byDestination(url, IN_FLIGHT),
  'destination, outbox on the disk': ({ url, folder }) =>
    byDestination(url, IN_FLIGHT, { outbox: { path: join(folder, 'ours') } }),
  'by hand, undici alone': ({ url }) => byPromise(IN_FLIGHT, byPool(url)),
  'by hand, undici and bare lmdb': byLmdb,
}

export const run = async ({ rounds = 60 }) => {
  const folder = await mkdtemp(join(tmpdir(), 'headrace-bench-'))
  const receiver = await startReceiver()
  try {
    const given = { url: receiver.urls[0], folder }
    const plan = { cases: Object.keys(cases), given, units: 1_000, rounds, warmUp: 15 }
    const results = await takeTurns(import.meta.url, plan)
    await checkArrived(receiver, results)
    const [memory, disk, undici, lmdb] = results
    return [
      rateRow(memory.name, memory, memory),
      rateRow(disk.name, disk, memory, 0.6),
      rateRow(undici.name, undici, undici),
      rateRow(lmdb.name, lmdb, undici),
      rateRow('destination on the disk, to lmdb by hand', disk, lmdb),
    ]
  } finally {
    receiver.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
