/** PostgreSQL in virtual time: time stands still while a statement runs, and the bell is in this process. */
import pg from 'pg'
import { afterAll } from 'vitest'
import { migrate, postgres, type PostgresOptions } from '../../src/outbox/postgres/postgresOutbox.ts'
import type { OutboxFactoryOptions } from '../../src/outbox/factory.ts'
import type { VirtualClock } from '../../src/testing/index.ts'
import { newSchema, sharedPostgres } from './postgres.js'

type Pool = PostgresOptions['pool']

/** A schema of its own in the server of the tests. */
export const openSchema = async () => {
  const { url } = await sharedPostgres()
  const pool = new pg.Pool({ connectionString: url, max: 8 })
  const schema = newSchema()
  await migrate(pool, { schema })
  // Other files of this process check that no socket is open.
  afterAll(() => pool.end())
  return { pool, schema, url }
}

/** The pool as one process has it. `kill`: its statements fail from now on. */
export const virtualPool = (pool: Pool, clock: VirtualClock, bell: Set<(queue: string) => void>) => {
  let isDead = false
  const view: Pool = {
    query: (query) => {
      if (isDead) return Promise.reject(new Error('it was killed'))
      const values = query.values ?? []
      if (query.text.includes('pg_notify')) for (const hear of bell) hear(String(values[0]))
      const answer = pool.query({ ...query, values }).then((result) => {
        // The server's clock is the world's.
        const rows = result.rows.map((row) => ({
          ...(row as object),
          ...('now' in (row as object) && { now: clock.now() }),
        }))
        return { rows }
      })
      return clock.hold(answer)
    },
    connect: () => {
      let hear: ((queue: string) => void) | undefined
      return Promise.resolve({
        query: () => Promise.resolve(),
        on: (event: string, call: (about: { payload?: string }) => void) => {
          if (event !== 'notification') return
          hear = (payload) => {
            if (!isDead) call({ payload })
          }
          bell.add(hear)
        },
        release: () => hear && bell.delete(hear),
      })
    },
  }
  return { view, kill: () => void (isDead = true) }
}

export const jsonCodec = <A extends { readonly byteLength: number }>(): OutboxFactoryOptions<A>['codec'] => ({
  toText: (item) => JSON.stringify(item),
  fromText: (text) => JSON.parse(text) as A,
  sizeOf: ({ byteLength }) => byteLength,
})

export const open = <A>(options: PostgresOptions, of: OutboxFactoryOptions<A>) => postgres(options)(of)
