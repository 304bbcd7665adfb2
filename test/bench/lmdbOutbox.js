// The outbox on a disk beside bare lmdb with the same batching: so many items at a time in one transaction, each answered when it has been
// synced. What is compared is how many a second, in turns, because the disk is what both wait for. Told to append, bare lmdb fills its
// pages, as ours does; that is the most that can be had, and has no target. Memory and opening with very many waiting: lmdbOutboxAtSize.
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lmdbOutbox } from '../../dist/outbox/lmdb/index.js'
import { cpuNow, median, quantile } from './measure.js'

const AT_A_TIME = 512
const TURNS = 40
const UNITS = AT_A_TIME * TURNS
const text = JSON.stringify({
  type: 'track',
  userId: 'u1',
  event: 'Signed Up',
  properties: { note: 'x'.repeat(930) },
})

const codec = { toText: (item) => item, fromText: (item) => item, sizeOf: (item) => item.length }
const outcomeOf = (item) => ({ _tag: 'Delivered', item, attempts: 1, receipt: { sink: 'a', status: 200 } })

const bare = (path, options) => {
  const lmdb = createRequire(import.meta.url)('lmdb')
  const env = lmdb.open(path, { overlappingSync: false, encoding: 'string' })
  const items = env.openDB('items', { encoding: 'string' })
  let number = 0
  return {
    append: () =>
      env.transaction(() => {
        for (let at = 0; at < AT_A_TIME; at++) items.put(++number, text, options)
      }),
    takeAndEnd: () => {
      const taken = [...items.getRange({ start: 0, limit: AT_A_TIME })]
      return env.transaction(() => {
        for (const { key } of taken) items.remove(key)
      })
    },
    close: () => env.close(),
  }
}

const ours = (path) => {
  const outbox = lmdbOutbox({ path, codec })
  return {
    append: () => Promise.all(Array.from({ length: AT_A_TIME }, () => outbox.enqueue([text]))),
    takeAndEnd: async () => {
      const leased = await outbox.lease(0, { count: AT_A_TIME, retries: 0 })
      await Promise.all(leased.map((entry) => outbox.ack([{ entry, outcome: outcomeOf(entry.item) }])))
    },
    close: () => outbox.close(),
  }
}

const timed = async (task) => {
  const start = performance.now()
  const cpu = cpuNow()
  for (let turn = 0; turn < TURNS; turn++) await task()
  return { rate: UNITS / ((performance.now() - start) / 1_000), cpu: (cpuNow() - cpu) / UNITS }
}

const rowOf = (what, figures, base, least) => {
  const ratios = figures.map(({ rate }, at) => rate / base[at].rate)
  const ratio = median(ratios)
  const cpu = median(figures.map((each) => each.cpu))
  return {
    what: `${what}, ${cpu.toFixed(1)} µs CPU each`,
    figure: median(figures.map(({ rate }) => rate)),
    unit: 'a second',
    ratio,
    low: quantile(0.25, ratios),
    high: quantile(0.75, ratios),
    ...(least === undefined ? {} : { target: `>= ${least}x`, met: ratio >= least }),
  }
}

export const run = async ({ rounds = 9 }) => {
  const folder = await mkdtemp(join(tmpdir(), 'headrace-bench-'))
  const stores = {
    bare: bare(join(folder, 'bare')),
    filling: bare(join(folder, 'filling'), { append: true }),
    ours: ours(join(folder, 'ours')),
  }
  const figuresOf = () => ({ append: [], takeAndEnd: [] })
  const figures = { bare: figuresOf(), filling: figuresOf(), ours: figuresOf() }
  try {
    for (let round = -1; round < rounds; round++) {
      const names = round % 2 === 0 ? ['bare', 'filling', 'ours'] : ['ours', 'filling', 'bare']
      for (const task of ['append', 'takeAndEnd']) {
        for (const name of names) {
          const figure = await timed(stores[name][task])
          if (round >= 0) figures[name][task].push(figure)
        }
      }
    }
  } finally {
    for (const store of Object.values(stores)) await store.close()
    await rm(folder, { recursive: true, force: true })
  }
  const { bare: base, filling, ours: own } = figures
  return [
    rowOf('append, bare lmdb', base.append, base.append),
    rowOf('append, bare lmdb, full pages', filling.append, base.append),
    rowOf('enqueue, headrace', own.append, base.append, 0.7),
    rowOf('take and end, bare lmdb', base.takeAndEnd, base.takeAndEnd),
    rowOf('take and end, bare lmdb, full pages', filling.takeAndEnd, base.takeAndEnd),
    rowOf('lease and ack, headrace', own.takeAndEnd, base.takeAndEnd, 0.6),
  ]
}
