/** The statements of an outbox in PostgreSQL, each one round trip, and the connections that run them. */
import { createHash } from 'node:crypto'
import { codeOf } from '../../core/failure.ts'
import type { RunStatement, TransactionClient } from '../outbox.ts'

/** A query as the package pg takes it. With a name it is prepared once for each connection. @inline */
interface Query {
  readonly name?: string
  readonly text: string
  readonly values?: ReadonlyArray<unknown>
}

/** The answer to a query, whose rows a caller describes. @inline */
interface QueryResult {
  readonly rows: ReadonlyArray<unknown>
}

/** A connection that is taken out of a pool, for LISTEN. @inline */
interface ListenConnection {
  readonly query: (text: string) => Promise<unknown>
  readonly on: {
    (event: 'notification', call: (about: { readonly payload?: string | undefined }) => void): unknown
    (event: 'error' | 'end', call: () => void): unknown
  }
  readonly release: (isBroken: boolean) => void
  /** Lets the process end while it listens. */
  readonly unref?: () => void
}

/** A `Pool` of the package pg, or another one with these functions. */
export interface PostgresPool {
  readonly query: (query: Query) => Promise<QueryResult>
  readonly connect: () => Promise<ListenConnection>
  /** With a `max` of 1 the outbox does not LISTEN: that would take the only connection. */
  readonly options?: { readonly max?: number | undefined }
}

export const runIn = (client: TransactionClient): RunStatement => {
  if (typeof client === 'function') return client
  return (text, values) => ('query' in client ? client.query(text, values) : client.executeSql(text, values))
}

const MAX_KEY_LENGTH = 200

/** An index holds keys of a bounded length, and PostgreSQL no character 0. */
export const storedKey = (key: string | undefined): string | null => {
  if (key === undefined) return null
  const fits = key.length <= MAX_KEY_LENGTH && !key.includes('\0')
  return fits ? key : `sha256:${createHash('sha256').update(key).digest('base64')}`
}

/** A leased row. The row with the id -1 holds the next due time of a retry. */
export interface LeasedRow {
  readonly id: string
  readonly due: string | null
  readonly about: string | null
  readonly item: string
  readonly keyed: boolean
}

export interface DeadRow extends Pick<LeasedRow, 'id' | 'about' | 'item'> {
  readonly at: string
  readonly size: number
}

export interface Rows {
  readonly version: Readonly<{ version: number; encoding: string; isolation: string }>
  readonly use: { readonly kind: string; readonly owner: string | null }
  readonly register: { readonly id: string }
  readonly renew: { readonly alive: boolean; readonly gone: number; readonly now: string }
  readonly enqueue: { readonly id: string; readonly worker: string | null }
  readonly lease: LeasedRow
  readonly ack: { readonly gone: number; readonly size: number; readonly dead: number }
  readonly nack: { readonly alive: boolean }
  readonly free: unknown
  readonly count: Readonly<{ waiting: string; bytes: number; dead: string; late: boolean; took: number }>
  readonly listDead: DeadRow
  readonly addDead: unknown
  readonly evict: unknown
  readonly newestDead: { readonly id: string }
  readonly redrive: { readonly id: string }
  readonly purge: { readonly id: string }
  readonly ends: { readonly oldest: string | null; readonly newest: string | null }
  readonly ring: unknown
  readonly bookmark: { readonly value: string }
  readonly remember: unknown
}

const textsIn = (schema: string): { readonly [N in keyof Rows]: string } => ({
  version: `select version, current_setting('server_encoding') as encoding,
    current_setting('transaction_isolation') as isolation from ${schema}.version`,
  use: `with added as (insert into ${schema}.queue (queue, kind, owner) values ($1, $2, $3)
      on conflict do nothing returning kind, owner)
    select kind, owner from added union all select kind, owner from ${schema}.queue where queue = $1`,
  register: `insert into ${schema}.worker (queue, expires) values ($1, $2) returning id`,
  renew: `select * from ${schema}.renew($1, $2, $3, $4)`,
  enqueue: `select * from ${schema}.enqueue($1, $2, $3, $4, $5, $6, $7)`,
  lease: `select * from ${schema}.lease($1, $2, $3, $4, $5, $6, $7, $8)`,
  ack: `select * from ${schema}.ack($1, $2, $3, $4, $5, $6)`,
  nack: `select * from ${schema}.nack($1, $2, $3, $4, $5)`,
  free: `select from ${schema}.free($1, $2, $3, $4)`,
  count: `select count(*) as waiting, coalesce(sum(size), 0) as bytes,
    (select count(*) from ${schema}.dead where queue = $1) as dead,
    exists (select from ${schema}.worker where queue = $1 and expires < $2)
      or exists (select from ${schema}.item where queue = $1 and worker = -1) as late,
    extract(epoch from clock_timestamp() - statement_timestamp())::float8 * 1000::float8 as took
    from ${schema}.item where queue = $1 and worker is distinct from -1`,
  listDead: `select * from ${schema}.dead where queue = $1 and id > $2 order by id limit $3`,
  addDead: `insert into ${schema}.dead (queue, at, key, size, about, item)
    values ($1, $2, $3, $4, $5, $6)`,
  evict: `delete from ${schema}.dead where queue = $1 and id <= (
    select id from ${schema}.dead where queue = $1 order by id desc offset $2 limit 1) returning id`,
  newestDead: `select coalesce(max(id), 0) as id from ${schema}.dead where queue = $1`,
  redrive: `select * from ${schema}.redrive($1, $2)`,
  purge: `delete from ${schema}.dead where queue = $1 and id = any($2) returning id`,
  ends: `select min(id) as oldest, max(id) as newest from ${schema}.item
    where queue = $1 and worker is distinct from -1`,
  ring: `select pg_notify('${schema}', $1)`,
  bookmark: `select value from ${schema}.bookmark where queue = $1 and name = $2`,
  remember: `insert into ${schema}.bookmark values ($1, $2, $3)
    on conflict (queue, name) do update set value = excluded.value`,
})

const isTrue = (text: string): boolean => text === 't'
/** By the number of the type. A host may have set other parsers of pg for all of its queries. */
const parserOf = (type: number) => (type === 16 ? isTrue : type === 23 || type === 701 ? Number : String)
/** Milliseconds until the answer counts as lost, and pg closes the connection. */
const HOW = { query_timeout: 30_000, types: { getTypeParser: parserOf } }

/** A deadlock with a transaction of the host, or a conflict of such ones: nothing was done. */
const ROLLED_BACK = /^40(P01|001)$/
const MAX_TRIES = 5

export type AskServer = ReturnType<typeof statementsOf>['ask']

/** The statements over a pool. `isPrepared`: each connection prepares them once. */
export const statementsOf = (pool: PostgresPool, schema: string, isPrepared: boolean) => {
  const texts = textsIn(schema)
  return {
    /** Runs a statement in a transaction of its own. */
    ask: async <N extends keyof Rows>(name: N, values: ReadonlyArray<unknown> = []) => {
      const query = { ...HOW, text: texts[name], values, ...(isPrepared && { name: `${schema}_${name}` }) }
      for (let tries = 1; ; tries++)
        try {
          // The text of this name answers these rows.
          return (await pool.query(query)).rows as ReadonlyArray<Rows[N]>
        } catch (error) {
          if (tries === MAX_TRIES || !ROLLED_BACK.test(codeOf(error))) throw error
        }
    },
    /** The statements that add items, and one item without a key, for a transaction of the host. */
    enqueueText: texts.enqueue,
    // A call of the function took 10 to 15 % of the commits of a host.
    enqueueOneText: `insert into ${schema}.item (queue, size, item) values ($1, $2, $3)`,
    ringText: texts.ring,
  }
}
