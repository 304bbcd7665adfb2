/** An outbox over PostgreSQL keeps the laws. A crash frees what the process had leased, as the end of its lease does. */
import { describe, test } from 'vitest'
import type { Outbox } from '../../src/outbox/index.ts'
import { outboxLaws, registerLaws, sharedOutboxLaws, type OutboxItem } from '../../src/testing/laws/index.ts'
import { brokenConnections, jsonCodec, open, openSchema, untilAnswered } from '../support/postgresWorld.ts'
import { virtualPool } from '../support/postgresWorld.ts'
import { runs } from '../support/runs.ts'

describe.each([
  ['PostgreSQL', false, 0.5, 0.2],
  ['PostgreSQL over connections that break', true, 0.3, 0.1],
])('%s', async (_, areBroken, share, sharedShare) => {
  let worlds = 0
  const faults = () => (areBroken ? brokenConnections(worlds++) : undefined)
  const robust = <A>(outbox: Outbox<A>): Outbox<A> => (areBroken ? untilAnswered(outbox) : outbox)
  const { pool, schema } = await openSchema()
  /** Ends the outbox of each place that was opened last, as a kill of its process and the end of its lease do. */
  const running = new Map<string, () => Promise<void>>()
  const crash = async (queue: string): Promise<void> => {
    await running.get(queue)?.()
    await pool.query(`update ${schema}.item set worker = null where queue = $1`, [queue])
    await pool.query(`delete from ${schema}.worker where queue = $1`, [queue])
  }
  const one = outboxLaws(
    ({ clock, bounds, place }) => {
      const { view, kill } = virtualPool(pool, clock, new Set(), faults())
      const of = { codec: jsonCodec<OutboxItem>(), clock }
      const outbox = open<OutboxItem>({ pool: view, queue: place, schema, ...bounds }, of)
      running.set(place, () => (kill(), outbox.close().catch(() => undefined)))
      return robust(outbox)
    },
    { crash, leave: (place) => running.get(place)?.() },
  )
  // A lost answer leaves the counts of this process off until it counts again, 5 s later.
  const held = one.filter(({ id }) => !areBroken || !['outbox/stats', 'outbox/repeats'].includes(id))
  registerLaws({ test }, held, { runs: Math.max(100, runs(share)) })

  const bells = new Map<string, Set<(queue: string) => void>>()
  const codec = { toText: String, fromText: Number, sizeOf: () => 1 }
  const shared = sharedOutboxLaws(({ clock, place, leaseTime }) => {
    const bell = bells.get(place) ?? new Set()
    bells.set(place, bell)
    const { view, kill } = virtualPool(pool, clock, bell, faults())
    const outbox = open<number>({ pool: view, queue: place, schema, leaseTime }, { codec, clock })
    const close = (): Promise<void> => outbox.close().catch(() => undefined)
    const crashed = (): void => {
      kill()
      void close()
      // An idle worker looks in real time. Here it hears a bell after the end of the lease.
      clock.schedule(50_000, () => bell.forEach((hear) => hear(place)))
    }
    return { outbox: { ...robust(outbox), close }, kill: crashed }
  })
  registerLaws({ test }, shared, { runs: runs(sharedShare) })
})
