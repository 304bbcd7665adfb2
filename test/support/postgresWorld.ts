/** PostgreSQL in virtual time: time stands still while a statement runs, and the bell is in this process. */
import pg from 'pg'
import { afterAll } from 'vitest'
import { migrate, postgres, type PostgresOptions } from '../../src/outbox/postgres/postgresOutbox.ts'
import type { Awaitable } from '../../src/core/awaitable.ts'
import type { Outbox, OutboxFactoryOptions } from '../../src/outbox/index.ts'
import { type VirtualClock, seededRandom } from '../../src/testing/index.ts'
import { newSchema, sharedPostgres } from './servers.js'

type Pool = PostgresOptions['pool']

export const openSchema = async () => {
  const { url } = await sharedPostgres()
  const pool = new pg.Pool({ connectionString: url, max: 8 })
  const schema = newSchema()
  await migrate(pool, { schema })
  // Other files of this process check that no socket is open.
  afterAll(() => pool.end())
  return { pool, schema, url }
}

/**
 * What happens to a statement: its connection breaks before it runs, or its answer is lost. With a number it
 * runs after as many later ones.
 */
export type Faults = (text: string, values: ReadonlyArray<unknown>) => 'breaks' | 'loses' | number | undefined

/** Every eighth statement fails. One that changes leases runs for all that, in half of the cases. */
export const brokenConnections = (seed: number): Faults => {
  const random = seededRandom(seed)
  return (text, values) => {
    // A close that fails leaves its leases to their time, for which the laws do not wait.
    const isClose = text.includes('.free(') && values[2] === null
    // An eviction that fails is made up for at the next count.
    const isEviction = text.includes('offset $2')
    if (isClose || isEviction || random() > 1 / 8) return undefined
    if (!/\.(lease|ack|nack|renew|free)\(|into \w+\.worker/.test(text) || random() < 1 / 2) return 'breaks'
    return random() < 1 / 2 ? 'loses' : Math.ceil(3 * random())
  }
}

export const untilAnswered = <A>(outbox: Outbox<A>): Outbox<A> => {
  const again =
    <I extends unknown[], O>(call: (...given: I) => Awaitable<O>) =>
    async (...given: I): Promise<O> => {
      for (;;)
        try {
          return await call(...given)
        } catch (error) {
          brokenOnly(error)
        }
    }
  // An enqueue that is repeated would come behind those that were called with it.
  let turn: Promise<unknown> = Promise.resolve()
  const { enqueue, lease, ack, nack, addDeadLetter, takeRemaining, dead, opened, close } = outbox
  return {
    ...outbox,
    ...(opened && { opened: again(opened) }),
    ...(addDeadLetter && { addDeadLetter: again(addDeadLetter) }),
    enqueue: (items) => {
      const answers = turn.then(() => again(enqueue)(items))
      turn = answers
      return answers
    },
    lease: again(lease),
    ack: again(ack),
    nack: again(nack),
    takeRemaining: again(takeRemaining),
    dead: { ...dead, list: again(dead.list), redrive: again(dead.redrive), purge: again(dead.purge) },
    close: (options) => close(options).catch(brokenOnly),
  }
}
const BROKEN = 'the connection broke'
const brokenOnly = (error: unknown): void => {
  if (!(error instanceof Error && error.message.includes(BROKEN))) throw error
}

/** The pool as one process has it. `kill`: its statements fail from now on. */
export const virtualPool = (
  pool: Pool,
  clock: VirtualClock,
  bell: Set<(queue: string) => void>,
  faultOf: Faults = () => undefined,
) => {
  let isDead = false
  /** Statements that run late, and how many others come before. */
  let late: ReadonlyArray<{ readonly after: number; readonly run: () => Promise<unknown> }> = []
  const runLate = async (): Promise<void> => {
    const due = late.filter(({ after }) => after <= 1)
    late = late.filter(({ after }) => after > 1).map(({ after, run }) => ({ after: after - 1, run }))
    for (const { run } of due) await run()
  }
  const view: Pool = {
    query: (query) => {
      if (isDead) return Promise.reject(new Error('it was killed'))
      const values = query.values ?? []
      const fault = faultOf(query.text, values)
      if (typeof fault === 'number') late = [...late, { after: fault, run: () => pool.query(query) }]
      if (typeof fault === 'number' || fault === 'breaks') return Promise.reject(new Error(BROKEN))
      if (query.text.includes('pg_notify')) for (const hear of bell) hear(String(values[0]))
      const answer = pool.query({ ...query, values }).then(async (result) => {
        await runLate()
        // The server's clock is the world's.
        const rows = result.rows.map((row) => ({
          ...(row as object),
          ...('now' in (row as object) && { now: clock.now() }),
        }))
        if (fault === 'loses') throw new Error(BROKEN)
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
