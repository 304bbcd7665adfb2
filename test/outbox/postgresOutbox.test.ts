/** The outbox over a real PostgreSQL: its transactions, its fences, its faults. Left out if there is no server. */
import { drizzle } from 'drizzle-orm/node-postgres'
import { isRight, right } from 'fp-ts/lib/Either.js'
import { groupBy } from 'fp-ts/lib/NonEmptyArray.js'
import { chunksOf } from 'fp-ts/lib/Array.js'
import knexOf, { type Knex } from 'knex'
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import postgresJs from 'postgres'
import { NEVER } from 'rxjs'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { deliver, refused, retryable, sink, systemClock } from '../../src/index.ts'
import { constVoid } from '../../src/core/either.ts'
import { earliestRetry, messageOf } from '../../src/core/failure.ts'
import { errorKind } from '../../src/log/logEvent.ts'
import { ConfigError } from '../../src/core/refusal.ts'
import { delivered, rejected } from '../../src/core/outcome.ts'
import { webhookDestination, type Destination } from '../../src/destination/index.ts'
import type { Event } from '../../src/event/index.ts'
import { migrate, postgres, type PostgresOptions } from '../../src/outbox/postgres/postgresOutbox.ts'
import { schemaSql } from '../../src/outbox/postgres/schema.ts'
import { workerOf } from '../../src/outbox/postgres/worker.ts'
import { newEntry } from '../../src/outbox/outbox.ts'
import type { CorruptRecord, Entry, OutboxFactoryOptions, TransactionClient } from '../../src/outbox/index.ts'
import type { TransactionalOutbox } from '../../src/outbox/index.ts'
import { loopbackReceiver, virtualClock, type Receiver } from '../../src/testing/index.ts'
import { cuttingProxy } from '../support/cuttingProxy.ts'
import { newSchema, programs, startPgbouncer } from '../support/servers.js'
import { openSchema, virtualPool } from '../support/postgresWorld.ts'
import { textCodec } from '../support/folder.ts'
import { turns } from '../support/check.ts'

const overKnex = (trx: Knex.Transaction) => (text: string, values: unknown[]) =>
  trx.raw(
    text.replace(/\?/g, '\\?').replace(/\$(\d+)/g, ':p$1'),
    Object.fromEntries(values.map((value, at) => [`p${String(at + 1)}`, value])) as never,
  )
/** Drizzle does not name the client of its transaction in its types. */
const clientOf = (tx: unknown) =>
  (tx as { readonly _: { readonly session: { readonly client: pg.PoolClient } } })._.session.client
const fail = () => Promise.reject(new Error('unknown'))
const ALL = { count: 100, retries: 100 }
const ended = (entry: Entry<string>) => ({ entry, outcome: delivered(entry.item, 1, { sink: 's' }) })
const putBack = (entry: Entry<string>) => ({ entry, due: 1 })
const failed = (entry: Entry<string>) => ({ entry, outcome: rejected(entry.item, 1, refused('status')) })

type Row = Readonly<Record<string, unknown>>
type Opened = TransactionalOutbox<string>
type Leased = ReadonlyArray<Entry<string>>
describe('PostgreSQL', async () => {
  const { pool, schema, url } = await openSchema()
  let queues = 0
  type Some = Partial<PostgresOptions>
  type Of = Partial<OutboxFactoryOptions<string>>
  const make = async (options: Some = {}, of: Of = {}) => {
    const all = { pool, schema, queue: `q${String(++queues)}`, linger: 0, ...options }
    const outbox = postgres(all)({ codec: textCodec, ...of })
    await outbox.opened?.()
    return outbox
  }
  /** It is closed when the test is over. */
  const open = async (...given: Parameters<typeof make>) => {
    const outbox = await make(...given)
    onTestFinished(async () => outbox.close())
    return outbox
  }
  const lease = async (outbox: Opened) => outbox.lease(0, ALL)
  const rows = async (sql: string, values: unknown[] = []): Promise<ReadonlyArray<Row>> =>
    (await pool.query<Row>(sql.replaceAll('headrace.', `${schema}.`), values)).rows
  const eventually = (check: () => unknown) => expect.poll(check, { interval: 20 })

  /** Each is done late by a worker that was ended by another; and the fence that keeps it from changing anything. */
  const LATE: ReadonlyArray<readonly [string, number, boolean, (a: Opened, of: Leased) => Promise<void>]> = [
    ['acks', 0, false, async (a, list) => a.ack(list.map(ended))],
    ['acks of a key', 0, true, async (a, list) => a.ack(list.map(ended))],
    ['acks of dead letters', 1, false, async (a, list) => a.ack(list.map(failed))],
    ['nacks', 2, false, (a, list) => Promise.resolve(a.nack(list.map(putBack))).catch(constVoid)],
    ['a close', 3, false, (a) => a.close()],
  ]
  describe.each(LATE)('%s that come late', (_, fence, isKeyed, act) => {
    /** A leases all, and its worker is ended as after a pause. B leases the same items. Answers if A changes them. */
    const changes = async (own: string): Promise<boolean> => {
      const given = { schema: own, queue: `q${String(++queues)}` }
      const of = isKeyed ? { keyOf: (item: string) => item.slice(0, 1) } : {}
      // Its time stands still, so it does not see that it was ended.
      const a = await open(given, { ...of, clock: virtualClock() })
      await a.enqueue(['a1', 'a2', 'b1'])
      const before = await lease(a)
      expect(await lease(a)).toEqual([])
      await pool.query(`select ${own}.renew($1, null, 9e15::bigint, 0)`, [given.queue])
      const b = await open(given, of)
      expect(await lease(b)).toEqual(before)
      const state = async () =>
        (await pool.query<Row>(`select * from ${own}.item where queue = $1 order by id`, [given.queue])).rows
      const was = await state()
      await act(a, before)
      const isSame = JSON.stringify(await state()) === JSON.stringify(was)
      expect(await b.dead.list()).toHaveLength(isSame || fence !== 1 ? 0 : before.length)
      return !isSame
    }
    test('change nothing', async () => expect(await changes(schema)).toBe(false))
    test('would without their fence', async () => {
      const mutant = newSchema()
      let at = 0
      // A close has two of them.
      const free = schemaSql(mutant).replace('if not found then return; end if;\n  update', 'update')
      const sql = free.replace('where alive and', 'where')
      await pool.query(sql.replace(/i\.worker = (any\(mine\)|me)/g, (all) => (at++ === fence ? 'true' : all)))
      expect(at).toBe(4)
      expect(await changes(mutant)).toBe(true)
    })
  })
  test('runs no function that another role made in a schema of its path', async () => {
    const [own, others] = [newSchema(), newSchema()]
    await pool.query(`create schema ${others}; create function ${others}.hashtextextended(text, int) returns bigint
      language plpgsql as $$ begin raise exception 'theirs'; end $$`)
    const trusting = new pg.Pool({ connectionString: url, options: `-c search_path=${others},public` })
    onTestFinished(() => trusting.end())
    await migrate(trusting, { schema: own })
    const outbox = await open({ pool: trusting, schema: own }, { keyOf: (item) => item })
    expect(await outbox.enqueue(['a'])).toMatchObject([{ right: { item: 'a' } }])
    const leased = await lease(outbox)
    await outbox.ack(leased.map(ended))
    expect(leased.map(({ item }) => item)).toEqual(['a'])
  })
  test('a worker that was ended by another leases under a new id, also after a lost answer', async () => {
    const clock = virtualClock()
    const a = await open({ pool: failing((_, __, [, , , texts]) => String(texts) === 'd') }, { clock })
    await Promise.resolve(a.enqueue(['a'])).then(() => lease(a))
    await rows('delete from headrace.worker')
    await a.enqueue(['b'])
    expect((await lease(a)).map(({ item }) => item)).toEqual(['b'])
    // As after a failover that lost commits.
    await rows('update headrace.worker set generation = generation - 1')
    await a.enqueue(['c'])
    expect((await lease(a)).map(({ item }) => item)).toEqual(['c'])
    await expect(a.enqueue(['d'])).rejects.toThrow('cut')
    for (const table of ['item', 'worker']) await rows(`delete from headrace.${table}`)
    clock.wall(60_000)
    expect(await lease(a)).toEqual([])
  })

  type Fails = (text: string, hasRun: boolean, values: ReadonlyArray<unknown>) => boolean | Promise<boolean>
  const failing = (fails: Fails): PostgresOptions['pool'] => ({
    connect: () => pool.connect(),
    query: async ({ values = [], ...query }) => {
      if (await fails(query.text, false, values)) throw new Error('cut')
      const answer = await pool.query({ ...query, values: [...values] })
      if (await fails(query.text, true, values)) throw new Error('cut')
      return answer
    },
  })

  test('an answer that was lost leaves no item leased for ever', async () => {
    let isCut = false
    const lossy = failing((text, hasRun) => isCut && hasRun && /enqueue|lease/.test(text))
    const outbox = await open({ pool: lossy, queue: 'lossy' })
    await outbox.enqueue(['a', 'b'])
    expect(await lease(outbox)).toHaveLength(2)
    isCut = true
    await expect(outbox.enqueue(['c'])).rejects.toThrow('cut')
    isCut = false
    await outbox.enqueue(['d'])
    // "a" and "b" are still its own.
    expect((await lease(outbox)).map(({ item }) => item)).toEqual(['c', 'd'])
    await outbox.close()
    expect(await rows(`select id from headrace.item where worker is not null and queue='lossy'`)).toEqual([])
  })

  test('a statement that leases or puts back changes nothing after a later one', async () => {
    const late: Array<() => Promise<unknown>> = []
    const cuts = ['lease']
    const slow = failing((text, hasRun, values) => {
      const isCut = !hasRun && text.includes(`.${String(cuts[0])}(`) && cuts.shift() !== undefined
      return isCut && late.push(() => pool.query(text, [...values])) > 0
    })
    const outbox = await open({ pool: slow, queue: 'slow' })
    await expect(lease(outbox)).rejects.toThrow('cut')
    await outbox.enqueue(['a'])
    const nacks = (await lease(outbox)).map(putBack)
    cuts.push('enqueue', 'free', 'nack')
    // Before "c" what holds "b" is freed.
    for (const item of ['b', 'c']) await expect(outbox.enqueue([item])).rejects.toThrow('cut')
    await outbox.enqueue(['c'])
    await expect(outbox.nack(nacks)).rejects.toThrow('cut')
    await outbox.nack(nacks)
    const items = async () => (await lease(outbox)).map(({ item }) => item)
    const found = await items()
    for (const run of late.reverse()) await run()
    await eventually(async () => found.push(...(await items())) && found).toEqual(['a', 'c', 'b'])
    expect(await rows(`select from headrace.item where queue = 'slow' and worker is null`)).toEqual([])
  })

  test('a worker is renewed while the statement that frees is not answered', async () => {
    const clock = virtualClock()
    const loses = (text: string) => (text.includes('enqueue') ? 'loses' : undefined)
    const { view } = virtualPool(pool, clock, new Set(), loses)
    const query: typeof view.query = (asked) =>
      asked.text.includes('.free(') && asked.values?.[2] !== null ? new Promise(constVoid) : view.query(asked)
    const outbox = await open({ pool: { ...view, query }, queue: 'renewed' }, { clock })
    await expect(outbox.enqueue(['a'])).rejects.toThrow('broke')
    await outbox.enqueueIn(pool, ['b'])
    for (let n = 0; n < 10; n++) await clock.advance(10_000)
    const alive = `select id from headrace.worker where queue = 'renewed' and expires > $1`
    expect(await rows(alive, [clock.now()])).toHaveLength(1)
  })

  test.each(['answered', 'under way'])('a repeated nack leaves a newer lease alone: %s', async (how) => {
    let isCut = false
    let answers = (): void => undefined
    let leased: Promise<boolean> | undefined
    const lossy = failing((text, hasRun, values) => {
      // One that leases ahead asks for no retries, and is answered.
      if (text.includes('.lease(') && hasRun && values[4] !== 0) return leased ?? false
      return isCut && hasRun && text.includes('.nack(')
    })
    const queue = `repeated ${how}`
    const outbox = await open({ pool: lossy, queue })
    await outbox.enqueue(['a', 'b'])
    const [a, b] = (await lease(outbox)).map((entry) => [{ entry, due: 1 }])
    isCut = true
    await expect(outbox.nack(a ?? [])).rejects.toThrow('cut')
    isCut = false
    await outbox.nack(b ?? [])
    if (how === 'under way') leased = new Promise((resolve) => (answers = () => resolve(false)))
    const leasing = outbox.lease(Date.now(), ALL)
    const isLeased = () => rows('select from headrace.item where queue = $1 and worker > 0', [queue])
    await eventually(isLeased).toHaveLength(2)
    const repeated = outbox.nack(a ?? [])
    if (leased === undefined) await repeated
    await rows('select pg_sleep(0.05)')
    answers()
    const again = await leasing
    await repeated
    await outbox.ack(again.map(ended))
    expect(again).toHaveLength(2)
    expect(await rows('select id from headrace.item where queue = $1', [queue])).toEqual([])
  })

  test('a worker that was idle renews its lease of what another one stored', async () => {
    const clock = virtualClock()
    const view = () => virtualPool(pool, clock, new Set()).view
    const opening = () => open({ pool: view(), queue: 'of others', listen: false }, { clock })
    const [a, b] = [await opening(), await opening()]
    await a.enqueue(['x'])
    const mine = await lease(b)
    for (let n = 0; n < 10; n++) await clock.advance(10_000)
    expect([mine.length, await lease(a)]).toEqual([1, []])
    // It looks each second, also while it has leased all that it knows of.
    await rows(`select headrace.enqueue('of others', null, null, '{y}', '{1}', null, null)`)
    await clock.advance(1_000)
    expect((await lease(b)).map(({ item }) => item)).toEqual(['y'])
  })

  test.each([Number, BigInt])("a host's parser of large numbers (%o) changes nothing", async (parser) => {
    const { INT8 } = pg.types.builtins
    onTestFinished(() => pg.types.setTypeParser(INT8, String))
    pg.types.setTypeParser(INT8, parser)
    const [a, b] = [await open({ queue: parser.name }), await open({ queue: parser.name })]
    await a.enqueue(['x', 'y'])
    // They were not stored by the one that leases them.
    const list = await lease(b)
    expect(list.map(({ item }) => item)).toEqual(['x', 'y'])
    await b.ack(list.map(failed))
    const dead = await b.dead.list()
    expect(await b.dead.redrive(() => true)).toEqual(dead.map(({ id }) => id))
  })

  /** Asks, and lets the timers of Node pass when it waits, while sockets work. Answers why it failed. */
  const failure = async (ms: number, ask: () => unknown, waits: () => Promise<boolean>): Promise<string> => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const asked = Promise.resolve(ask()).then(() => 'it did not fail', messageOf)
    while (!(await waits()));
    vi.advanceTimersByTime(ms)
    vi.useRealTimers()
    return asked
  }

  test('a statement without an answer fails after 30 s, and stops no other one', async () => {
    const outbox = await open()
    const other = await pool.connect()
    await other.query(`begin; lock table ${schema}.item`)
    const locks = `select from pg_locks where not granted and relation = '${schema}.item'::regclass`
    const waits = async () => (await other.query(locks)).rows.length > 0
    expect(await failure(30_000, () => outbox.enqueue(['a']), waits)).toContain('timeout')
    await other.query('rollback')
    other.release()
    await outbox.enqueue(['b'])
    expect((await lease(outbox)).map(({ item }) => item)).toContain('b')
  })

  test('dead letters that come during a redrive are for the next one', async () => {
    let isAdding = false
    const late = failed(newEntry('', 'late')).outcome
    const busy = failing(async (text, hasRun) => {
      if (isAdding && hasRun && text.includes('.redrive(')) await outbox.addDeadLetter?.('late', late)
      return false
    })
    const outbox = await open({ pool: busy })
    await outbox.enqueue(Array.from({ length: 500 }, String))
    await outbox.ack((await outbox.lease(0, { count: 500, retries: 0 })).map(failed))
    isAdding = true
    expect(await outbox.dead.redrive(() => true)).toHaveLength(500)
    expect(await outbox.dead.list()).toMatchObject([{ entry: { item: 'late' } }])
  })

  test('a bookmark is stored with its items, and none behind items that were not stored', async () => {
    let isDown = false
    const down = failing((text, hasRun) => isDown && !hasRun && text.includes('enqueue'))
    const outbox = await open({ pool: down, maxCount: 4 })
    const at = async (value: string, name = 'in') => outbox.enqueue([value], { bookmark: { name, value } })
    expect(await outbox.bookmark('in')).toBe(undefined)
    const other = 'x'.repeat(9_000)
    await Promise.all([at('1'), at('2'), at('3', other)])
    expect([await outbox.bookmark('in'), await outbox.bookmark(other)]).toEqual(['2', '3'])
    await at('4')
    await at('5')
    expect(await outbox.bookmark('in')).toBe('4')
    await outbox.remember({ name: 'in', value: 'end' })
    expect(await outbox.bookmark('in')).toBe('end')
    await outbox.ack((await lease(outbox)).map(ended))
    isDown = true
    await expect(at('6')).rejects.toThrow('cut')
    isDown = false
    await at('7')
    expect([await outbox.bookmark('in'), outbox.stats().waiting]).toEqual(['end', 1])
  })

  test('a record that cannot be read ends as a dead letter, which is told', async () => {
    const told: CorruptRecord[] = []
    const codec = { ...textCodec, fromText: (text: string) => (text === 'bad' ? text.repeat(-1) : text) }
    const [clock, onCorrupt] = [virtualClock(), (record: CorruptRecord) => void told.push(record)]
    let failures = 2
    const cut = failing((text, hasRun) => !hasRun && text.includes('.ack(') && failures-- > 0)
    const outbox = await open({ pool: cut, queue: 'corrupt' }, { codec, clock, onCorrupt })
    await rows(`select headrace.enqueue('corrupt', null, null, '{bad,good}', '{3,4}', null, null)`)
    await eventually(async () => (await lease(outbox)).map(({ item }) => item)).toEqual(['good'])
    await eventually(() => clock.advance(1_000).then(() => told.length)).toBe(1)
    expect(await outbox.dead.list({ limit: Infinity })).toMatchObject([{ reason: 'corrupt', raw: 'bad' }])
    expect(await outbox.dead.redrive(() => true)).toEqual([])
  })

  test('the oldest dead letters make room, and go back in their order', async () => {
    const outbox = await open({ keepDead: 2 }, { keyOf: () => 'k' })
    await outbox.enqueue(['a', 'b', 'c'])
    for (let n = 0; n < 3; n++) await outbox.ack((await lease(outbox)).map(failed))
    expect(outbox.stats()).toMatchObject({ dead: 2, evictedDeadLetters: 1, waiting: 0 })
    expect(await outbox.dead.redrive(() => true)).toHaveLength(2)
    expect((await lease(outbox)).map(({ item }) => item)).toEqual(['b'])
  })

  test('the oldest dead letters are looked for once for many', async () => {
    let looks = 0
    const seen = failing((text, hasRun) => (looks += Number(hasRun && text.includes('offset $2'))) < 0)
    const outbox = await open({ pool: seen, keepDead: 200 }, { clock: virtualClock() })
    await outbox.enqueue(texts(203))
    const all = await outbox.lease(0, { count: 203, retries: 0 })
    for (const list of [all.slice(3), ...chunksOf(1)(all.slice(0, 3))]) await outbox.ack(list.map(failed))
    expect([looks, outbox.stats().dead, outbox.stats().evictedDeadLetters]).toEqual([1, 200, 3])
  })

  test('one count runs at a time; the opening awaits the first for a second, the next awaits a failure', async () => {
    const [clock, queue] = [virtualClock(), 'counts']
    const { view } = virtualPool(pool, clock, new Set())
    let counts = 0
    let [answer, cut] = [constVoid, constVoid]
    const fault = new Error('cut')
    const held = () => new Promise<void>((done, fail) => ([answer, cut] = [done, () => fail(fault)]))
    const query: typeof view.query = async (query) => {
      if (query.text.includes('as waiting') && ++counts < 3) await held()
      return view.query(query)
    }
    await rows(`select headrace.enqueue('counts', null, null, '{a}', '{1}', null, null)`)
    const outbox = postgres({ pool: { ...view, query }, schema, queue })({ codec: textCodec, clock })
    const counting = () => turns().then(() => counts > 0)
    expect(await failure(1_000, () => outbox.opened?.(), counting)).toBe('it did not fail')
    await outbox.enqueue(['b'])
    const later = async (ms: number) => clock.advance(ms).then(() => counts)
    expect(await later(30_000)).toBe(1)
    answer()
    await eventually(() => outbox.stats().waiting).toBe(2)
    expect(await later(30_000)).toBe(2)
    cut()
    expect([await later(250_000), (await later(60_000)) > 2]).toEqual([2, true])
    await outbox.close()
  })

  test('all has ended after the answers to own acks, in any process, whatever comes meanwhile', async () => {
    let [looks, isOver, answer] = [0, false, constVoid]
    const acked = new Promise<void>((done) => (answer = done))
    const seen = failing(async (text, hasRun) => {
      looks += Number(hasRun && text.includes('as oldest'))
      return hasRun && text.includes('.ack(') && acked.then(() => false)
    })
    const clock = virtualClock()
    const [a, b] = [await open({ pool: seen, queue: 'ends' }, { clock }), await open({ queue: 'ends' })]
    const looked = async () => {
      const before = looks
      await eventually(() => clock.advance(1_000).then(() => looks)).toBeGreaterThan(before + 1)
      return isOver
    }
    await a.enqueue(['a'])
    const acking = a.ack((await lease(a)).map(ended))
    await eventually(() => rows("select from headrace.item where queue = 'ends'")).toEqual([])
    void a.allEnded?.().then(() => (isOver = true))
    expect(await looked()).toBe(false)
    await b.enqueue(['b'])
    const theirs = await lease(b)
    answer()
    await acking
    await eventually(() => clock.advance(1_000).then(() => isOver)).toBe(true)
    isOver = false
    void a.allEnded?.().then(() => (isOver = true))
    expect(await looked()).toBe(false)
    await b.enqueue(['c'])
    await b.ack(theirs.map(ended))
    await eventually(() => clock.advance(1_000).then(() => isOver)).toBe(true)
  })

  test('a deliver that stops leaves free what it leased ahead, and tells others, as a close does', async () => {
    const asked: string[] = []
    const outbox = await open({ pool: failing((text) => asked.push(text) < 0), queue: 'ahead' })
    await outbox.enqueue(texts(9))
    const hangs = sink<string>('s', () => new Promise(constVoid))
    const running = NEVER.pipe(deliver(hangs, { outbox, maxInFlight: 2 })).subscribe()
    const taken = () => rows("select id from headrace.item where queue = 'ahead' and worker is not null")
    await eventually(taken).toHaveLength(4)
    running.unsubscribe()
    await eventually(taken).toEqual([])
    await eventually(() => asked.at(-1)).toContain('pg_notify')
    await outbox.close()
    expect(asked.at(-1)).toContain('pg_notify')
  })

  const openMany = async (count: number, options: Some, of: Of = {}) => {
    const queue = `many${String(++queues)}`
    const all = texts(count).map(() => make({ queue, linger: 5, ...options }, of))
    return { queue, workers: await Promise.all(all) }
  }
  type Many = Awaited<ReturnType<typeof openMany>>
  const drained = async ({ queue, workers }: Many, feed = () => Promise.resolve()) => {
    const seen: string[] = []
    const to = sink<string>('s', (item) => new Promise((done) => setImmediate(done, void seen.push(item))))
    const running = workers.map((outbox) => NEVER.pipe(deliver(to, { outbox, maxInFlight: 20 })).subscribe())
    await feed()
    await eventually(() => rows('select id from headrace.item where queue = $1', [queue])).toEqual([])
    for (const each of running) each.unsubscribe()
    await Promise.allSettled(workers.map((outbox) => outbox.close()))
    return seen
  }
  const texts = (count: number) => Array.from({ length: count }, (_, n) => `${String(n % 7)}:${String(n)}`)
  const keyOf = (item: string): string | undefined => item.split(':')[0]

  test('three processes keep the order of each key', async () => {
    const many = await openMany(3, {}, { keyOf })
    for (const list of chunksOf(10)(texts(210))) await many.workers[0]?.enqueue(list)
    const seen = await drained(many)
    const byKey = (list: ReadonlyArray<string>) => groupBy((item: string) => keyOf(item) ?? '')([...list])
    expect(byKey(seen)).toEqual(byKey(texts(210)))
  })

  test('a transaction that holds a key or the table for long stops neither results nor connections', async () => {
    await pool.query(schemaSql(schema).replace(/'(25|1)s'/g, "'9ms'"))
    onTestFinished(async () => migrate(pool, { schema }))
    const [clock, host] = [virtualClock(), await pool.connect()]
    const outbox = await open({}, { keyOf, clock })
    await outbox.enqueue(['a:1', 'b:1', 'b:2'])
    await host.query('begin')
    await outbox.enqueueIn(host, ['a:2'])
    await expect(outbox.enqueue(['a:3'])).rejects.toThrow('lock timeout')
    await outbox.ack((await lease(outbox)).map(ended))
    const next = await lease(outbox)
    expect(next.map(({ item }) => item)).toEqual(['b:2'])
    await host.query(`commit; begin; lock table ${schema}.item`)
    const nacks = next.map((entry) => ({ entry, due: 1 }))
    const calls = [outbox.enqueue(['c']), outbox.ack(next.map(ended)), outbox.nack(nacks)]
    await Promise.all(calls.map((call) => expect(call).rejects.toThrow('lock timeout')))
    await host.query('commit')
    host.release()
    const turned = async () => {
      await clock.advance(5_000)
      return (await lease(outbox)).map(({ item }) => item)
    }
    await eventually(turned).toEqual(['a:2'])
  })

  const TERMINATE = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'ended'`
  test.each<readonly [string, number, (cut: () => void) => Promise<unknown>]>([
    ['a proxy that cuts answers', 3, async (cut) => cut()],
    ['connections that the server ends', 0, async () => rows(`${TERMINATE} and random() < 0.5`)],
  ])('%s cost repeats, and no item', async (_, least, fault) => {
    const server = Number(new URL(url).port)
    let isOpen = false
    const cutAfter = () => (isOpen && least > 0 ? 100 + Math.random() * 8_000 : Infinity)
    const proxy = await cuttingProxy(server, cutAfter)
    const connectionString = url.replace(String(server), String(proxy.port))
    const through = new pg.Pool({ connectionString, max: 6, application_name: 'ended' })
    through.on('error', () => undefined)
    const many = await openMany(2, { pool: through, leaseTime: 2_000 })
    isOpen = true
    proxy.cutAll()
    const accepted: string[] = []
    const seen = new Set(
      await drained(many, async () => {
        const lists = chunksOf(5)(texts(300))
        for (let n = 0; n < lists.length || proxy.cuts() < least; n++) {
          const list = lists[n % lists.length] ?? []
          const enqueue = async () => many.workers[0]?.enqueue(list)
          const answers = (await enqueue().catch(() => [])) ?? []
          if (answers.length > 0 && answers.every(isRight)) accepted.push(...list)
          if (Math.random() < 0.1) await fault(proxy.cutAll).catch(() => undefined)
        }
      }),
    )
    expect(accepted.filter((item) => !seen.has(item))).toEqual([])
    expect(accepted.length).toBeGreaterThan(100)
    await through.end()
    await proxy.close()
  })

  test('a pool of one, PgBouncer and the clocks of hosts', async () => {
    // Without one the pool is that of the server: vitest.config.ts says so.
    const server = { port: Number(new URL(url).port), stop: () => Promise.resolve() }
    const { port, stop } = programs.pgbouncer === '' ? server : await startPgbouncer(server)
    const bounced = new pg.Pool({ connectionString: url.replace(/:\d+\//, `:${String(port)}/`) })
    const single = new pg.Pool({ connectionString: url, max: 1 })
    const ways: ReadonlyArray<readonly [Partial<PostgresOptions>, object]> = [
      [{ pool: bounced, listen: false, prepare: false }, {}],
      [{ pool: single }, {}],
      [{}, { clock: { ...systemClock, now: () => Date.now() + 600_000 } }],
    ]
    const queue = `ways${String(++queues)}`
    const workers = await Promise.all(ways.map(([options, of]) => make({ queue, linger: 5, ...options }, of)))
    for (const outbox of workers) await outbox.enqueue(texts(40))
    // Each worker is alive for the one whose clock is ahead.
    expect(await rows('select id from headrace.worker where queue = $1', [queue])).toHaveLength(3)
    expect(await drained({ queue, workers })).toHaveLength(120)
    await Promise.all([bounced.end(), single.end()])
    await stop()
  })

  test('ten queues over a pool of three share one LISTEN', async () => {
    const small = new pg.Pool({ connectionString: url, max: 3, application_name: 'ten' })
    const all = await Promise.all(texts(10).map(() => open({ pool: small })))
    await Promise.all(all.map(async (outbox) => outbox.enqueue(['a'])))
    const listens = () =>
      rows("select pid from pg_stat_activity where application_name = 'ten' and query like 'listen%'")
    await eventually(listens).toHaveLength(1)
    await Promise.all(all.map((outbox) => outbox.close()))
    await small.end()
  })

  test('a schema is migrated again beside an open transaction that adds, and nothing waits', async () => {
    const [outbox, client] = [await open(), await pool.connect()]
    onTestFinished(() => client.release(true))
    await client.query('begin')
    await outbox.enqueueIn(client, ['a'])
    await migrate(pool, { schema })
    expect(await outbox.enqueue(['b'])).toMatchObject([{ right: { item: 'b' } }])
    expect(outbox.stats()).toMatchObject({ waiting: 2 })
    await client.query('rollback')
    // A version before lacked a column: its table is changed at once, or not.
    const own = newSchema()
    await client.query(`${schemaSql(own)}; alter table ${own}.worker drop column generation`)
    await client.query(`begin; select from ${own}.worker`)
    const limit = `select set_config('statement_timeout', '2s', true);`
    const again = pool.query(limit + schemaSql(own).replaceAll("'3s'", "'50ms'"))
    await expect(again).rejects.toThrow('a dump, or another long transaction, holds a table')
  })

  test('a lease and an ack read few pages, whatever was planned before and the statistics say', async () => {
    const [own, client] = [newSchema(), await pool.connect()]
    await migrate(pool, { schema: own })
    const run = (sql: string) => client.query<Row>(sql.replaceAll('headrace.', `${own}.`))
    const pages = async (call: string): Promise<number> => {
      const { rows } = await run(`explain (analyze, buffers, format json) select from headrace.${call}`)
      return Number(/"Shared Hit Blocks":(\d+)/.exec(JSON.stringify(rows))?.[1])
    }
    const ackOf = (ids: string) => pages(`ack('q', '{1}', 1, ${ids}, true, null)`)
    const add = `insert into headrace.item (queue, size, item, key) select 'q', 1, repeat('x', 100)`
    await run(`${add}, null from generate_series(1, 10000)`)
    await ackOf(`'{1}'`)
    await run(`${add}, 'k' from generate_series(1, 10000)`)
    const many = await ackOf('array(select generate_series(15000, 15049))')
    await run(`update headrace.item set worker = 1, key = 'last' where id = 20000`)
    await run(`insert into headrace.worker (queue, expires) values ('p', 1)`)
    await run('vacuum analyze headrace.item')
    const [last, none] = [await ackOf(`'{20000}'`), await pages(`lease('p', 1, 0, 1, 9, 9, 0, 0)`)]
    client.release()
    expect(Math.max(many, last, none)).toBeLessThan(500)
  })

  test('a deadlock with another transaction is asked again', async () => {
    let deadlocks = 3
    const dead = failing((text, hasRun) => {
      if (hasRun || !text.includes('.enqueue(') || deadlocks-- <= 0) return false
      throw Object.assign(new Error('deadlock detected'), { code: '40P01' })
    })
    const outbox = await open({ pool: dead })
    expect(await outbox.enqueue(['a'])).toMatchObject([{ right: { item: 'a' } }])
    deadlocks = 9
    await expect(outbox.enqueue(['b'])).rejects.toThrow('deadlock')
  })

  test('what was asked more than 30 s ago is not stored, and its call rejects', async () => {
    const outbox = await open()
    vi.spyOn(systemClock, 'monotonic').mockReturnValueOnce(performance.now() - 30_001)
    const [late, stored] = await Promise.allSettled([outbox.enqueue(['late']), outbox.enqueue(['a'])])
    expect([late.status, stored.status]).toEqual(['rejected', 'fulfilled'])
    expect((await lease(outbox)).map(({ item }) => item)).toEqual(['a'])
  })

  test.each([
    ['half a character', 'a\ud800'],
    ['a character 0', '\0'],
  ])('a text with %s is refused alone', async (what, text) => {
    const outbox = await open()
    const [bad, good] = await Promise.allSettled([outbox.enqueue([text]), outbox.enqueue(['b'])])
    const message = expect.stringMatching(new RegExp(`${what}.*not stored`)) as unknown
    expect(bad).toMatchObject({ status: 'rejected', reason: { message } })
    expect(good.status).toBe('fulfilled')
    // A bookmark would skip it.
    await outbox.enqueue(['a'], { bookmark: { name: 'in', value: 'a' } })
    expect(await outbox.bookmark('in')).toBe(undefined)
  })

  test.each([
    ['another clock', -600_000, 0],
    ['a clock that jumps after the opening', 0, 18_000_000],
  ])('moments keep their meaning for a process with %s', async (_, behind, jump) => {
    const queue = `clocks${String(++queues)}`
    let shift = -jump
    const a = await open({ queue }, { clock: { ...systemClock, now: () => Date.now() + shift } })
    await a.enqueue(['x'])
    const [entry] = await lease(a)
    shift = 0
    const now = Date.now()
    const progress = { attempts: 1, lastFailure: retryable('status', { notBefore: now + 9_000 }) }
    const retried = { id: entry?.id ?? '', item: 'x', firstAttemptAt: now - 5_000, progress }
    await a.nack([{ entry: retried, due: now - 1_000 }])
    const b = await open({ queue }, { clock: { ...systemClock, now: () => Date.now() + behind } })
    const [again] = await b.lease(0, ALL)
    const first = again?.firstAttemptAt ?? 0
    const next = earliestRetry(again?.progress?.lastFailure ?? refused('no')) ?? 0
    expect(Math.abs(first - (now - 5_000 + behind))).toBeLessThan(60_000)
    expect(Math.abs(next - (now + 9_000 + behind))).toBeLessThan(60_000)
  })

  test('what is due by the own time is due by that of the server, whatever their fractions', async () => {
    let at = 0
    const clock = { ...systemClock, monotonic: () => at, now: () => 1_000 }
    const me = workerOf(() => Promise.resolve([{ gone: 0, now: '1000' }] as never), 'q', clock, 30_000)
    at = 0.9
    await me.renew()
    at = 10.1
    expect([me.now(), me.ahead()]).toEqual([1_010, 0])
  })

  test('a machine that sleeps while a renewal is on its way is renewed again', async () => {
    let slept = 0
    const clock = { ...systemClock, monotonic: () => 1, now: () => 1_001 + slept }
    const renewal = () => [{ alive: true, gone: 0, now: String((slept = 18_000_000)) }] as never
    const me = workerOf(() => Promise.resolve(renewal()), 'q', clock, 30_000)
    await me.renew()
    expect(me.isSure()).toBe(false)
    await me.renew()
    expect([me.isSure(), me.now()]).toEqual([true, 18_000_000])
  })

  describe('what cannot be opened says why', () => {
    const opening = async (options: Some, of: Of = {}) =>
      open(options, of).then(
        (outbox) => outbox.close().then(() => 'opened'),
        (error: unknown) => errorKind(error),
      )
    test('schemas and servers', async () => {
      expect(await opening({ schema: 'nowhere' })).toContain(
        'the outbox in PostgreSQL did not open: its schema nowhere is missing: run migrate(pool), or "headrace outbox migrate"',
      )
      const older = newSchema()
      await migrate(pool, { schema: older })
      await pool.query(`update ${older}.version set version = 0`)
      expect(await opening({ schema: older })).toMatch(/is older: run migrate\(pool\)$/)
      await migrate(pool, { schema: older })
      expect(await opening({ schema: older })).toBe('opened')
      await pool.query(`update ${older}.version set version = 99`)
      expect(await opening({ schema: older })).toMatch(/a newer headrace made/)
      await expect(migrate(pool, { shcema: older } as never)).rejects.toThrow(/unknown option/)
      await pool.query('create database latin encoding latin1 template template0 locale "C"')
      const latin = new pg.Pool({ connectionString: url.replace(/[^/]*$/, 'latin') })
      await migrate(latin, { schema })
      expect(await opening({ pool: latin })).toMatch(/has the encoding LATIN1: make one with UTF8$/)
      await latin.end()
      const options = '-c default_transaction_isolation=serializable'
      const strict = new pg.Pool({ connectionString: url, options })
      expect(await opening({ pool: strict })).toMatch(/isolation serializable: give one with READ COMMITTED$/)
      await strict.end()
      const none = new pg.Pool({ connectionString: 'postgres://me:secret@127.0.0.1:1/db' })
      const message = await opening({ pool: none })
      expect(message).toMatch(/did not open: .*ECONNREFUSED/)
      expect(message).not.toContain('secret')
      expect(() => schemaSql('a"b')).toThrow(ConfigError)
    })
    test('another kind, another owner', async () => {
      await opening({ queue: 'used' }, { owner: 'a' })
      const found = await opening({ queue: 'used' }, { codec: { ...textCodec, kind: 'messages' } })
      expect(found).toMatch(/which holds items and not messages: use another queue/)
      expect(await opening({ queue: 'used' }, { owner: 'b' })).toMatch(/^ConfigError: .* of a and not of b/)
    })
    test('options', () => {
      const wrong = { pool: {}, queue: '', leaseTime: 1, linger: 501 } as unknown as PostgresOptions
      expect(() => postgres(wrong)({ codec: textCodec })).toThrow(/pool must .*queue .*Time must .*linger/)
    })
  })

  describe('a transaction of the host', () => {
    let client: pg.PoolClient
    let receiver: Receiver
    let destination: Destination
    const sql = postgresJs(url, { onnotice: () => undefined })
    const kysely = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
    const knex = knexOf({ client: 'pg', connection: url })
    const overKysely = (trx: Kysely<unknown>) => (text: string, values: unknown[]) =>
      trx.executeQuery(CompiledQuery.raw(text, values))
    const ways: Readonly<Record<string, (work: (a: TransactionClient) => Promise<void>) => Promise<void>>> = {
      pg: async (work) => {
        await client.query('begin')
        await work(client).then(
          () => client.query('commit'),
          async (error: unknown) => {
            await client.query('rollback')
            throw error
          },
        )
      },
      Kysely: (work) => kysely.transaction().execute((trx) => work(overKysely(trx))),
      Drizzle: (work) => drizzle(pool).transaction((tx) => work(clientOf(tx))),
      'postgres.js': async (work) => {
        await sql.begin((tx) => work((text, values) => tx.unsafe(text, values as never[])))
      },
      Knex: (work) => knex.transaction((trx) => work(overKnex(trx))),
      executeSql: (work) => kysely.transaction().execute((trx) => work({ executeSql: overKysely(trx) })),
    }
    beforeAll(async () => {
      client = await pool.connect()
      receiver = await loopbackReceiver()
      const outbox = postgres({ pool, schema, queue: 'events' })
      const options = { outbox, orderBy: ({ messageId }: Event) => messageId, logger: false } as const
      destination = webhookDestination({ webhooks: [{ url: receiver.url }] }, options)
    })
    afterAll(async () => {
      client.release()
      await Promise.all([destination.close(), receiver.close(), sql.end(), knex.destroy()])
    })
    const event = (messageId: string) => ({ type: 'track', userId: 'u', event: 'Sold', messageId }) as const
    const arrived = () =>
      receiver.received.map(({ body }) => (JSON.parse(String(body)) as { messageId: string }).messageId)

    test.each(Object.keys(ways))('%s: delivered after a commit, nothing after a rollback', async (name) => {
      const way = ways[name] ?? fail
      await way(async (over) => {
        expect(await destination.sendIn(over, event(`${name} yes`))).toEqual(right({ id: `${name} yes` }))
      })
      await expect(
        way(async (over) => {
          await destination.sendIn(over, event(`${name} no`))
          throw new Error('roll back')
        }),
      ).rejects.toThrow('roll back')
      await eventually(async () => arrived().filter((id) => id.startsWith(name))).toEqual([`${name} yes`])
    })
    test('with a key needs READ COMMITTED', async () => {
      await client.query('begin isolation level repeatable read')
      await expect(destination.sendIn(client, event('x'))).rejects.toThrow(/need .* READ COMMITTED/)
      await client.query('rollback')
    })
    test('does not wait for ever for a queue that cannot be opened', async () => {
      const single = new pg.Pool({ connectionString: url, max: 1 })
      const held = await single.connect()
      const outbox = postgres({ pool: single, schema, queue: 'unopened' })({ codec: textCodec })
      const waits = () => turns().then(() => true)
      expect(await failure(10_000, () => outbox.enqueueIn(held, ['a']), waits)).toContain(
        'do transactions hold its connections? it did not end within 10000 ms',
      )
      held.release()
      await outbox.close()
      await single.end()
    })
    test('refuses before any statement, and throws what the client throws', async () => {
      const asked: string[] = []
      const run = (text: string) => void asked.push(text)
      const wrong = await destination.sendIn(run, { type: 'track' } as never)
      expect(wrong).toMatchObject({ left: { _tag: 'Invalid' } })
      const small = await open({ maxCount: 1 })
      expect(await small.enqueueIn(run, ['a', 'b'])).toMatchObject({ left: { _tag: 'Full', input: 'b' } })
      expect(asked).toEqual([])
      const oops = new Error('oops')
      await expect(destination.sendIn(() => Promise.reject(oops), event('x'))).rejects.toBe(oops)
      const memory = webhookDestination({ webhooks: [{ url: receiver.url }] }, { logger: false })
      await expect(memory.sendIn(run, event('x'))).rejects.toThrow(/needs an outbox with enqueueIn: p/)
      // The sender counts nothing; the process that ends an event does.
      const delivered = arrived().length
      await eventually(() => destination.stats()).toMatchObject({ refused: 0, accepted: 0, delivered })
      await Promise.all([small.close(), memory.close()])
    })
  })
})
