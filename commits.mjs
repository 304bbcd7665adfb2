import { migrate, postgres } from 'headrace/outbox/postgres'
import pg from 'pg'
import { startPostgres } from '/tmp/w-me/test/support/postgres.js'
const server = await startPostgres({ syncs: true, settings: ['max_wal_size=8GB'] })
const pool = new pg.Pool({ connectionString: server.url, max: 24 }).on('error', () => undefined)
await migrate(pool)
await pool.query('create table orders (id bigserial primary key, body text)')
await pool.query('create table events (id bigserial primary key, item text)')
const codec = { toText: (item) => item, fromText: (text) => text, sizeOf: (item) => item.length }
const BODY = JSON.stringify({ type: 'track', userId: 'u1', event: 'Signed Up', note: 'x'.repeat(400) })
const outbox = postgres({ pool, queue: 'bench', listen: false })({ codec })
const ways = {
  plain: (client) => client.query('insert into events (item) values ($1)', [BODY]),
  sendIn: (client) => outbox.enqueueIn(client, [BODY]),
  direct: (client) => client.query('insert into headrace.item (queue, size, item) select $1, u.size, u.item from unnest($2::text[], $3::float8[]) with ordinality u(item, size, n) order by n', ['b2', [BODY], [BODY.length]]),
  values: (client) => client.query('insert into headrace.item (queue, size, item) values ($1,$2,$3)', ['b2', BODY.length, BODY]),
}
const CONN = Number(process.env.CONN ?? 4)
const round = async (add, ms) => {
  let n = 0
  const end = performance.now() + ms
  await Promise.all(Array.from({ length: CONN }, async () => {
    const client = await pool.connect()
    while (performance.now() < end) {
      await client.query('begin')
      await client.query('insert into orders (body) values ($1)', ['x'])
      await add(client)
      await client.query('commit')
      n++
    }
    client.release()
  }))
  return n / ms * 1000
}
const names = (process.env.WAYS ?? 'plain,sendIn').split(',')
const out = Object.fromEntries(names.map((n) => [n, []]))
for (let i = -1; i < 11; i++) for (const name of i % 2 ? names : [...names].reverse()) {
  const rate = await round(ways[name], 1500); if (i >= 0) out[name].push(rate)
  await pool.query('truncate headrace.item, orders, events')
}
const med = (l) => [...l].sort((a, b) => a - b)[l.length >> 1]
for (const n of names) console.log(n, Math.round(med(out[n])), 'ratio', med(out[n].map((r, i) => r / out[names[0]][i])).toFixed(3))
await outbox.close(); await pool.end(); await server.stop()
