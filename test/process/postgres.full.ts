/** Four workers share a queue in PostgreSQL. Workers are killed by SIGKILL, and the server is stopped as by a crash. */
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { storedEvents } from '../../src/destination/record.ts'
import { migrate, postgres } from '../../src/outbox/postgres/postgresOutbox.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { startPostgres } from '../support/servers.js'
import { profile } from '../support/runs.ts'
import { LIMIT, NO_HARM, PIPELINE, SIZE } from './kills.ts'
import { accountOf, hearing, missing, openReceiver, startLife, type Life, type Said } from './kills.ts'
import { WINDOW, keyOf, nameOf } from './messages.js'

const WORKERS = 4
/** Of one worker: deliveries in flight, those that ended and are not stored yet, and offers without an answer. */
const OPEN = {
  destination: { delivered: 64 + 16, offered: 32 },
  ordered: { delivered: 64 + 16, offered: 32 },
  operators: { delivered: 64 + 16, offered: 64 },
  collector: { delivered: 64 + 16, offered: 20 },
  client: { delivered: (1 + 16) * 20, offered: 25 },
}
const kinds = ['destination', 'ordered', 'operators', 'collector', 'client'] as const
const isAll = profile === 'long' || process.env['KILLS'] !== undefined
const title = `%s: ${String(SIZE.kills)} kills of workers; crashes of the server where no order is kept`
it.each(isAll ? kinds : kinds.slice(0, 2))(title, { timeout: LIMIT * 2 }, async (kind) => {
  // A host that sends again what a crash kept from being stored changes the order by itself.
  const isOrdered = kind === 'ordered'
  const crashes = isOrdered ? 0 : Math.ceil(SIZE.kills / 3)
  const server = await startPostgres({ syncs: true })
  onTestFinished(server.stop)
  const pool = new pg.Pool({ connectionString: server.url })
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  await migrate(pool)
  const random = seededRandom(Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31)))
  const names = Array.from({ length: SIZE.messages }, (_, number) => nameOf(number))
  /** The receiver refuses these until they expire. One of them would hold back the batch of a client. */
  const chosen = names.filter((_, at) => at % 500 === 250 && kind !== 'client' && !isOrdered)
  const doomed = new Map<string, number[]>(chosen.map((name) => [`m-${name}`, []]))
  const account = accountOf(names, ['hook'])
  const arrived: typeof account.arrived = (place, name, id, body) => {
    doomed.get(id)?.push(Date.now())
    account.arrived(place, name, id, body)
  }
  const last = new Map<string, number>()
  let outOfOrder = 0
  const taken: typeof account.taken = (place, name) => {
    const [key, number, before] = [keyOf(name), Number(name.slice(1)), account.figures().delivered]
    account.taken(place, name)
    // Only the first time counts: after a kill an event may come again.
    if (account.figures().delivered === before) return
    if (number < (last.get(key) ?? 0)) outOfOrder++
    last.set(key, number)
  }
  const refuses = (name: string): boolean => chosen.includes(name)
  const receiver = await openReceiver({ ...account, arrived, taken }, random, false, refuses)
  const refused: Said[] = []
  const tell = hearing(account, (said) => said['t'] === 'refused' && refused.push(said))
  const hear = (said: Said): void => {
    if (said['outcome'] !== 'expired' || !doomed.has(String(said['id']))) tell(said)
  }
  let fail = (_: Error): void => undefined
  const failed = new Promise<never>((_, reject) => (fail = reject))
  const begin = (worker: number): Life => {
    const life = startLife([PIPELINE, kind, server.url, `${receiver.url}hook`], hear)
    life.child.stdin.write(missing({ names: names.filter((_, at) => at % WORKERS === worker), account }))
    void life.over.then(({ code, stderr }) => {
      if (code !== 0 && code !== null) fail(new Error(`a worker ended with ${String(code)}: ${stderr}`))
    })
    return life
  }
  const lives = Array.from({ length: WORKERS }, (_, worker) => begin(worker))
  const deaths = SIZE.kills + crashes
  for (let death = 0; death < deaths; death++) {
    const count = Math.ceil(((death + random()) / deaths) * 0.85 * SIZE.messages)
    await Promise.race([receiver.delivered(count), failed])
    if (!isOrdered && death % 4 === 3) await server.restart()
    else {
      const worker = Math.floor(random() * WORKERS)
      lives[worker]?.child.kill('SIGKILL')
      await lives[worker]?.over
      lives[worker] = begin(worker)
    }
    account.nextLife()
  }
  receiver.heal()
  for (const { child } of lives) child.stdin.end()
  const ends = await Promise.race([Promise.all(lives.map(({ over }) => over)), failed])
  expect(ends).toEqual(lives.map(() => ({ code: 0, signal: null, stderr: '' })))
  const figures = account.figures()
  const { delivered, offered } = OPEN[kind]
  const bound = SIZE.kills * (delivered + offered) + crashes * WORKERS * offered
  const { rows } = await pool.query<{ left: number }>('select count(*)::int as left from headrace.item')
  console.log(kind, JSON.stringify({ ...figures, bound, outOfOrder, left: rows[0]?.left }))
  expect(refused).toEqual([])
  expect(account.harm()).toEqual({ ...NO_HARM, missing: doomed.size })
  expect(figures).toMatchObject({ acknowledged: SIZE.messages, delivered: SIZE.messages - doomed.size })
  expect(rows).toEqual([{ left: 0 }])
  if (isOrdered) expect(outOfOrder).toBe(0)
  expect(figures.extra).toBeLessThanOrEqual(bound)
  const outbox = postgres({ pool, queue: 'kills' })({ codec: storedEvents })
  const dead = (await outbox.dead.list()).flatMap((each) => (each.reason === 'ended' ? [each.entry] : []))
  await outbox.close()
  // What a worker offered again after its death may be stored twice, and each copy ends by itself.
  expect(dead.filter(({ item }) => !doomed.has(item.id))).toEqual([])
  expect(dead.length).toBeLessThanOrEqual(doomed.size + figures.repeated)
  // No attempt starts after its deadline, which counts from the first stored failure. One may come late.
  const early = [...doomed].flatMap(([id, times]) => {
    const starts = dead.flatMap(({ item, firstAttemptAt = 0 }) => (item.id === id ? [firstAttemptAt] : []))
    expect(Math.max(...times)).toBeLessThan(Math.max(...starts) + WINDOW + 10_000)
    return times.filter((at) => at < Math.min(...starts) - 100)
  })
  expect(early.length).toBeLessThanOrEqual(SIZE.kills)
})
