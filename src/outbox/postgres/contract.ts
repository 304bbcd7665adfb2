import * as option from '../../core/options.ts'
import type { PostgresPool } from './statements.ts'

/** An outbox in PostgreSQL. */
export interface PostgresOptions {
  /** A `Pool` of the package pg. It stays the caller's: close it after the outbox. LISTEN takes one client. */
  readonly pool: PostgresPool
  /** The name of the queue, of at most 200 characters. Processes with the same name share its items. */
  readonly queue: string
  /** The schema that `migrate` made. Default `headrace`. */
  readonly schema?: string
  /**
   * Milliseconds that a crashed process keeps its items from others, counted from its last sign of life.
   * Default 30,000, at least 2,000.
   */
  readonly leaseTime?: number
  /** How many items may wait; off by those that others added in the last 5 s. Default 2,000,000. */
  readonly maxCount?: number
  /** How many bytes may wait, as the codec counts them; off likewise. Default 8,589,934,592 (8 GiB). */
  readonly maxBytes?: number
  /** How many dead letters are kept; the oldest make room. 0 keeps none. Default 100,000. */
  readonly keepDead?: number
  /** Milliseconds that results wait for others, so that one statement stores them. Default 5. */
  readonly linger?: number
  /** Hear of new items at once, by LISTEN. Default true; false behind a pooler of transactions. */
  readonly listen?: boolean
  /** Prepare statements, once for each connection. Default true; false behind a pooler of transactions. */
  readonly prepare?: boolean
  /**
   * `enqueueIn` notifies other processes in the host's transaction. Default false: its commit would wait for
   * a lock that all such commits share, and this process finds the items within 320 ms.
   */
  readonly notify?: boolean
}

const { wholeNumber, withDefault } = option
const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= 200 && !value.includes('\0')
/** The checked options. The types hold the rest. */
export const postgresOptions = option.strict({
  pool: option.methods<PostgresPool>('a Pool of pg', 'query', 'connect'),
  queue: option.guarded('a name of 1 to 200 characters', isName),
  schema: withDefault(option.text, 'headrace'),
  leaseTime: withDefault(wholeNumber('milliseconds', 2_000, 3_600_000), 30_000),
  maxCount: withDefault(wholeNumber('items', 1), 2_000_000),
  maxBytes: withDefault(wholeNumber('bytes', 1), 8_589_934_592),
  keepDead: withDefault(wholeNumber('items', 0), 100_000),
  linger: withDefault(wholeNumber('milliseconds', 0, 60_000), 5),
  listen: withDefault(option.flag, true),
  prepare: withDefault(option.flag, true),
  notify: withDefault(option.flag, false),
})
export type CheckedPostgres = typeof postgresOptions extends option.Option<infer O> ? O : never
