/** The server that a command opens, and the PostgreSQL that it uses. */
import { createServer, type RequestListener, type Server } from 'node:http'
import { isIPv6 } from 'node:net'
import { constVoid } from '../core/either.ts'
import { codeOf } from '../core/failure.ts'
import { ConfigError } from '../core/refusal.ts'
import type { OutboxFactoryOptions } from '../outbox/outbox.ts'
import { postgres } from '../outbox/postgres/postgresOutbox.ts'
import { migrate, schemaSql } from '../outbox/postgres/schema.ts'
import type { OptionsOf, Place } from './flags.ts'
import { UsageError, count, isPostgres, peer, valueOf } from './options.ts'
import { whyNot } from './report.ts'
import { FINE, type Terminal } from './terminal.ts'

const refuse = (error: unknown): never => {
  if (error instanceof ConfigError) throw error
  // Without its causes, which an outbox has told.
  throw new UsageError(`--outbox: ${(error instanceof Error && error.message) || codeOf(error)}`)
}

/** PostgreSQL, for outboxes of a command. The package pg is an optional peer. @throws UsageError */
export const openPostgres = async ({ url, schema }: NonNullable<Place['server']>) => {
  const { default: pg } = await peer('pg', import('pg'), '--outbox ')
  schemaSql(schema) // Throws if this is no name.
  const settings = { connectionString: url, connectionTimeoutMillis: 10_000, allowExitOnIdle: true }
  // If an idle connection is cut, the next statement makes another one.
  const pool = new pg.Pool(settings).on('error', constVoid)
  const openings: Array<() => unknown> = []
  return {
    pool,
    /** A statement has no answer yet. It may keep the process for 30 s. */
    isBusy: (): boolean => pool.totalCount > pool.idleCount,
    outboxOf:
      (queue: string, keepDead?: number) =>
      <A>(of: OutboxFactoryOptions<A>) => {
        const outbox = postgres({ pool, queue, schema, ...(keepDead && { keepDead }) })(of)
        openings.push(() => outbox.opened?.())
        return outbox
      },
    /** Those that were made are open. @throws UsageError, ConfigError */
    opened: async () => Promise.all(openings.map((open) => open())).catch(refuse),
  }
}

export const sqlCommand = ({ schema }: OptionsOf<'sql'>, { out }: Terminal): number => {
  out.line(schemaSql(schema).trim())
  return FINE
}

export const migrateCommand = async (given: OptionsOf<'migrate'>, { out }: Terminal): Promise<number> => {
  const { outbox = '', outboxEnv: url = outbox, schema } = given
  const fault = url === '' ? 'is missing: give' : 'must be'
  if (!isPostgres(url)) throw new UsageError(`--outbox ${fault} a URL such as postgres://user@host/db`)
  const { pool } = await openPostgres({ url, queue: '', schema })
  await migrate(pool, { schema }).catch(refuse)
  out.line(`the schema ${schema} is ready`)
  return FINE
}

/** Opens an HTTP server; port 0 is any free one. `origin`: `http://127.0.0.1:7412`. @throws UsageError */
export const serve = async (host: string, portText: string, listener: RequestListener) => {
  const port = valueOf('PORT', count(0, 65_535)(portText))
  const server = createServer(listener)
  return new Promise<{ readonly server: Server; readonly origin: string }>((resolve, reject) => {
    server.once('error', (error) => {
      const place = `port ${String(port)} at ${host}`
      reject(new UsageError(`${place} cannot be used: ${whyNot(error)}; give another PORT, or 0 for any`))
    })
    server.listen(port, host, () => {
      const address = server.address()
      const bound = typeof address === 'object' && address !== null ? address.port : port
      resolve({ server, origin: `http://${isIPv6(host) ? `[${host}]` : host}:${String(bound)}` })
    })
  })
}
