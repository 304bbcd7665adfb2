// An outbox in PostgreSQL beside other queues in it; store calls, workers, latencies, leases of a large table, its size. PARTS=rates,calls plays
// some parts. graphile-worker and pg-boss come from another folder: `npm i --prefix DIR graphile-worker@0.16 pg-boss@10`, then ENGINES=DIR.
import { fork } from 'node:child_process'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { left, right } from 'fp-ts/lib/Either.js'
import { deliver, retryable } from 'headrace'
import { migrate, postgres } from 'headrace/outbox/postgres'
import { exponential } from 'headrace/policy'
import pg from 'pg'
import { Subject, map, of, tap, timer } from 'rxjs'
import { programs, startPostgres } from '../support/servers.js'
import { answerOf, compared, cpuNow, median, quantile } from './measure.js'

const given = process.argv[2] === 'worker' ? JSON.parse(process.argv[3]) : undefined
const start = () => startPostgres({ syncs: true, settings: ['max_wal_size=8GB'] })
const server = given ?? (programs.initdb === '' ? {} : await start())
const pool = new pg.Pool({ connectionString: server.url, max: 24 }).on('error', () => undefined)
const { ENGINES, PARTS } = process.env
const codec = { toText: (item) => item, fromText: (text) => text, sizeOf: (item) => item.length }
const BODY = JSON.stringify({ type: 'track', userId: 'u1', event: 'Signed Up', note: 'x'.repeat(400) })
const ROWS = "select 'bench', 9, $3, $3::text is null or n = 1, $1 from generate_series(1, $2) n"
const FILL = `insert into headrace.item (queue, size, key, turn, item) ${ROWS}`
const fill = (count, text = BODY, key = null) => pool.query(FILL, [text, count, key])
const clear = () => pool.query('truncate headrace.item, headrace.worker')
const times = (count, make) => Promise.all(Array.from({ length: count }, make))
const since = (start) => (performance.now() - start) / 1_000

/** A line of the table. `target` is as `<= 20`, for the ratio if there is one. */
const row = (what, figure, unit, target, ratios = {}) => {
  const [value, limit] = [ratios.ratio ?? figure, Number(target.slice(3))]
  return { what, figure, unit, ...ratios, target, met: target[0] === '<' ? value <= limit : value >= limit }
}
const beside = (what, unit, figures, base, target) => {
  const { figure, ...ratios } = compared(figures, base)
  return row(what, figure, unit, target, ratios)
}

/** A running pipeline over the queue, whose sink answers after `ms`. `end` waits for a count, closes, and answers the queries. */
const pipeline = ({ ms = 0, maxInFlight = 1_000, seen, keyOf, fails, retry, ...more } = {}) => {
  const calls = []
  const query = async (text) => {
    const start = performance.now()
    const answer = await pool.query(text)
    calls.push({ text: text.text, ms: performance.now() - start })
    return answer
  }
  const own = { query, connect: () => pool.connect() }
  const outbox = postgres({ pool: own, queue: 'bench', ...more })({ codec, ...(keyOf && { keyOf }) })
  const [source$, stop] = [new Subject(), new Subject()]
  const verdict = (attempt) => (fails?.(attempt) ? left(retryable('status')) : right({ sink: 'bench' }))
  const done$ = of(right({ sink: 'bench' }))
  const answered = (item, attempt) =>
    (ms === 0 ? of(0) : timer(ms)).pipe(tap(() => seen?.(item))).pipe(map(() => verdict(attempt)))
  const isBare = ms === 0 && seen === undefined && fails === undefined
  const sink = { name: 'bench', deliver: isBare ? () => done$ : answered, close: () => Promise.resolve() }
  let count = 0
  const ended$ = source$.pipe(deliver(sink, { outbox, maxInFlight, stop, ...(retry && { retry }) }))
  const ended = ended$.forEach(() => count++)
  const end = async (goal) => {
    while (count < goal) await sleep(2)
    stop.next()
    await ended
    await outbox.close()
    return calls
  }
  return { outbox, send: (item) => source$.next(right(item)), count: () => count, end }
}

// A worker in a process of its own tells how late each event is, or when asked how many it has delivered.
if (given !== undefined) {
  const { url: _, tells, ...options } = given
  const { count } = pipeline({ ...options, seen: (text) => tells && process.send(Date.now() - text) })
  process.on('message', () => process.send(count()))
  process.on('disconnect', () => process.exit())
  process.send('ready')
}
const startWorker = async (options) => {
  const args = ['worker', JSON.stringify({ url: server.url, ...options })]
  const child = fork(fileURLToPath(import.meta.url), args)
  await answerOf(child)
  return child
}

const free = (count) => `select id from job where not taken order by id limit ${count} for update skip locked`
const TAKE = `update job set taken = true where id = any(array(${free(100)})) returning id, item`
const send = () => Promise.resolve()
const lists = async () => {
  for (let ids = [0]; ids.length > 0;) {
    const { rows } = await pool.query({ name: 'take', text: TAKE })
    await Promise.all(rows.map((each) => send(each)))
    ids = rows.map(({ id }) => id)
    await pool.query({ name: 'done', text: 'delete from job where id = any($1)', values: [ids] })
  }
}
const ONE = `delete from job where id = (${free(1)}) returning item`
const single = async () => {
  const client = await pool.connect()
  for (let found = 1; found > 0;) {
    await client.query('begin')
    found = (await client.query({ name: 'one', text: ONE })).rowCount
    await send()
    await client.query('commit')
  }
  client.release()
}
const byHand = (count, loop) => ({
  fill: (rows) => pool.query('insert into job (item) select $1 from generate_series(1, $2)', [BODY, rows]),
  drain: () => times(count, loop),
})
/** Runs an engine until it has done `count`; `start` answers how to stop it. */
const untilDone = async (count, start) => {
  const stop = await start((some = 1) => (count -= some))
  while (count > 0) await sleep(2)
  await stop()
}
const ADD = "select graphile_worker.add_job('bench', json_build_object('item', $1::text))"
const graphile = ({ Logger, run: start, runMigrations }, concurrency) => {
  const logger = new Logger(() => () => undefined)
  const fill = async (count) => {
    await runMigrations({ pgPool: pool, logger })
    await pool.query(`${ADD} from generate_series(1, $2)`, [BODY, count])
  }
  const started = async (done) => {
    const taskList = { bench: async () => void done() }
    const runner = await start({ pgPool: pool, logger, concurrency, noHandleSignals: true, taskList })
    return () => runner.stop()
  }
  return { fill, drain: (count) => untilDone(count, started) }
}
const boss = (Boss, batchSize) => {
  const opened = async (use) => {
    const made = new Boss(server.url)
    await made.start()
    await made.createQueue('bench')
    await use(made)
    return () => made.stop({ timeout: 5_000 })
  }
  const options = { batchSize, pollingIntervalSeconds: 0.5 }
  const work = (done) => (made) =>
    times(4, () => made.work('bench', options, async (jobs) => done(jobs.length)))
  const jobs = (count) => Array.from({ length: count }, () => ({ name: 'bench', data: { item: BODY } }))
  const fill = async (count) => (await opened((made) => made.insert(jobs(count))))()
  return { fill, drain: (count) => untilDone(count, (done) => opened(work(done))) }
}

const rates = async (rounds) => {
  await pool.query('create table job (id bigserial primary key, taken bool default false, item text)')
  const ours = [20_000, { fill, drain: (count) => pipeline().end(count) }]
  const engines = [
    ['by hand, lists of 100, 3 loops', 0.5, 20_000, byHand(3, lists)],
    ['by hand, one row, 20 loops', 3, 2_000, byHand(20, single)],
  ]
  const load = ENGINES && createRequire(`${ENGINES}/package.json`)
  for (const size of ENGINES ? [10, 24, 50] : [])
    engines.push([`graphile-worker, ${size} at once`, 5, 2_000, graphile(load('graphile-worker'), size)])
  // Five polls each: the first one comes at once.
  for (const size of ENGINES ? [200, 500, 1_000] : [])
    engines.push([`pg-boss, 4 x ${size} each 0.5 s`, 2, 20 * size, boss(load('pg-boss'), size)])
  const measured = async ([count, engine]) => {
    await engine.fill(count)
    const [cpu, start] = [cpuNow(), performance.now()]
    await engine.drain(count)
    return { cpu: (cpuNow() - cpu) / count, rate: count / since(start) }
  }
  const rows = []
  for (const [name, least, ...other] of engines) {
    const found = [[], []]
    for (let round = -1; round < rounds; round++)
      for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
        const figures = await measured([ours, other][at])
        if (round >= 0) found[at].push(figures)
      }
    const [cpu, rate] = ['cpu', 'rate'].map((key) => found.map((each) => each.map((one) => one[key])))
    if (rows.length === 0) rows.push(beside(`CPU beside ${name}`, 'µs an event', ...cpu, '<= 1.5'))
    const what = `rate beside ${name}, ${Math.round(median(rate[1]))}/s`
    rows.push(beside(what, 'a second', ...rate, `>= ${least}`))
  }
  if (!ENGINES) rows.push({ what: 'graphile-worker and pg-boss: not installed', unit: '' })
  return rows
}

const callsOf = async (ms, open, total, target) => {
  const { send, end, count } = pipeline({ ms, maxInFlight: open })
  const start = performance.now()
  for (let sent = 0; sent < total; sent++) {
    while (sent - count() >= open) await sleep(1)
    send(BODY)
  }
  const calls = await end(total)
  const what = `sink of ${ms} ms, ${open} open, ${Math.round(total / since(start))}/s`
  return row(what, calls.length / total, 'store calls an event', target)
}
const calls = async () => [
  await callsOf(0, 1_000, 30_000, '<= 0.05'),
  await callsOf(50, 100, 10_000, '<= 0.2'),
]

const workers = async (rounds) => {
  const found = { 1: [], 2: [], 4: [] }
  for (let round = 0; round < 3 * rounds; round++) {
    const count = [1, 2, 4][round % 3]
    await fill(count * 5_000)
    const all = await times(count, () => startWorker({ ms: 50, maxInFlight: 40 }))
    const counted = (each) => (each.send(''), answerOf(each))
    const done = async () => (await Promise.all(all.map(counted))).reduce((sum, one) => sum + one, 0)
    await sleep(1_500)
    const [before, start] = [await done(), performance.now()]
    await sleep(3_000)
    found[count].push(((await done()) - before) / since(start))
    for (const each of all) each.kill()
    await clear()
  }
  const ofLinear = (count, target) => {
    const linear = found[1].map((rate) => rate * count)
    const what = `${count} workers, 50 ms, 40 in flight: of linear`
    return beside(what, 'a second', found[count], linear, target)
  }
  return [ofLinear(2, '>= 0.95'), ofLinear(4, '>= 0.85')]
}

const latency = async () => {
  const rowOf = (what, late, target) => {
    const figures = `p50 ${Math.round(median(late))} of ${late.length}`
    return row(`${what}, ${figures}`, quantile(0.99, late), 'ms p99', target)
  }
  const elsewhere = async (options, count, pause, send) => {
    const late = []
    const worker = await startWorker({ tells: true, ...options })
    worker.on('message', (ms) => late.push(ms))
    await sleep(1_500)
    for (let sent = 0; sent < count; sent++) {
      await sleep(Math.random() * pause)
      await send(`${Date.now()}`)
    }
    await sleep(2_000)
    worker.kill()
    return late
  }
  const within = async (outbox) => {
    const client = await pool.connect()
    await client.query('begin')
    await outbox.enqueueIn(client, [`${Date.now()}`])
    await client.query('commit')
    client.release()
  }
  const busy = pipeline({ ms: 50, maxInFlight: 40 })
  const sent = await elsewhere({}, 1_500, 2, (text) => times(4, () => busy.send(text)))
  await busy.end(0)
  const rings = postgres({ pool, queue: 'bench', notify: true })({ codec })
  const rung = await elsewhere({}, 300, 20, () => within(rings))
  await rings.close()
  const late = []
  const own = pipeline({ seen: (text) => late.push(Date.now() - text) })
  for (let count = 0; count < 60; count++) await within(own.outbox).then(() => sleep(Math.random() * 100))
  await own.end(60)
  const cut = await elsewhere({ listen: false }, 20, 1_500, (text) => fill(1, text))
  return [
    rowOf('send in a busy process, to another', sent, '<= 20'),
    rowOf('enqueueIn with notify, to another', rung, '<= 20'),
    rowOf('enqueueIn without notify, same process', late, '<= 250'),
    rowOf('no bell, an idle worker', cut, '<= 1200'),
  ]
}

/** Commits a second of a host that stores a row of its own, and with it a plain row, or an event by `enqueueIn`. */
const commits = async (rounds) => {
  await pool.query('create table own (id bigserial primary key, item text)')
  await pool.query('create table event (id bigserial primary key, item text)')
  const outbox = postgres({ pool, queue: 'bench', listen: false })({ codec })
  const adds = [
    (client) => client.query('insert into event (item) values ($1)', [BODY]),
    (client) => outbox.enqueueIn(client, [BODY]),
  ]
  const found = adds.map(() => [])
  const rate = async (add) => {
    let count = 0
    const start = performance.now()
    const host = async () => {
      const client = await pool.connect()
      for (; since(start) < 1.5; count++) {
        await client.query('begin')
        await client.query('insert into own (item) values ($1)', ['x'])
        await add(client)
        await client.query('commit')
      }
      client.release()
    }
    await times(4, host)
    await pool.query('truncate headrace.item, own, event')
    return count / since(start)
  }
  for (let round = -1; round < 2 * rounds; round++)
    for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const seen = await rate(adds[at])
      if (round >= 0) found[at].push(seen)
    }
  await outbox.close()
  return [beside('commits with enqueueIn beside a plain insert', 'a second', found[1], found[0], '>= 0.9')]
}

const leases = async () => {
  await pool.query('alter table headrace.item set (autovacuum_enabled = false)')
  const drained = async (what, count, keyOf) => {
    const calls = await pipeline({ keyOf, maxInFlight: 200 }).end(count)
    await clear()
    const all = calls.filter(({ text }) => text.includes('.lease(')).map(({ ms }) => ms)
    const slowest = Math.round(Math.max(...all))
    return row(`${what}: slowest ${slowest} of ${all.length}`, quantile(0.99, all), 'ms p99', '<= 50')
  }
  await fill(1_000_000)
  const rows = [await drained('leases of 1,000,000 without analyze', 100_000)]
  await fill(100_000, '', 'hot')
  await fill(20_000)
  rows.push(await drained('leases behind a hot key', 20_000, (text) => (text === '' ? 'hot' : undefined)))
  await pool.query('alter table headrace.item reset (autovacuum_enabled)')
  return rows
}

const size = async () => {
  const SIZE = "select pg_table_size('headrace.item') / 1e6 as size"
  const megabytes = async () => Number((await pool.query(SIZE)).rows[0].size)
  const measured = async (what, work) => {
    let peak = 0
    const sampling = setInterval(() => void megabytes().then((now) => (peak = Math.max(peak, now))), 250)
    await work()
    clearInterval(sampling)
    await pool.query('vacuum headrace.item')
    const share = (100 * (await megabytes())) / peak
    return row(`${what}: of ${Math.round(peak)} MB`, share, '% after a vacuum', '<= 5')
  }
  const outage = async () => {
    await fill(200_000)
    const retry = exponential({ base: 20_000, factor: 1 })
    await pipeline({ retry, fails: ({ number }) => number === 1 }).end(200_000)
  }
  const held = async () => {
    const client = await pool.connect()
    await client.query('begin isolation level repeatable read')
    await client.query('select from headrace.item')
    const { send, end } = pipeline()
    for (let tick = 0; tick < 6_000; tick++) await sleep(10).then(() => times(20, () => send(BODY)))
    await client.query('commit')
    client.release()
    await end(120_000)
  }
  const rows = [await measured('outage of 200,000', outage)]
  return [...rows, await measured('120,000 beside a transaction of 60 s', held)]
}

const parts = { rates, calls, workers, latency, commits, leases, size }
export const run = async ({ rounds = 5 }) => {
  if (server.url === undefined) return [{ what: 'no PostgreSQL was found', unit: '' }]
  await migrate(pool)
  const rows = []
  for (const name of PARTS?.split(',') ?? Object.keys(parts)) rows.push(...(await parts[name](rounds)))
  await pool.end()
  await server.stop()
  return rows
}
