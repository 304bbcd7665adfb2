import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { retryable } from '../../../src/core/failure.ts'
import type { Verdict } from '../../../src/core/failure.ts'
import { closeRelay } from '../../../src/outbox/close.ts'
import type { CloseResult } from '../../../src/outbox/close.ts'
import { memoryOutbox } from '../../../src/outbox/memoryOutbox.ts'
import { relay } from '../../../src/outbox/relay.ts'
import type { Relay } from '../../../src/outbox/relay.ts'
import { exponential } from '../../../src/policy/retryPolicy.ts'
import { fromRun } from '../../../src/sink/layer.ts'
import type { Outbox } from '../../../src/outbox/outbox.ts'
import { virtualClock } from '../../../src/testing/virtualClock.ts'
import { disk, survivingOutbox } from '../survivingOutbox.ts'

const busy: Verdict = left(retryable('status', { status: 503 }))
const yes: Verdict = right({ sink: 's' })

interface Play {
  readonly verdict: Verdict
  readonly after: number
  /** From the verdict to rest, as a sibling's request would take. */
  readonly rest: number
}

const world = (
  plays: Record<string, Play>,
  outbox?: (clock: ReturnType<typeof virtualClock>) => Outbox<string>,
) => {
  const clock = virtualClock()
  const log: string[] = []
  const sink = fromRun<string>(
    's',
    (item, _, receiver) => {
      const { verdict, after, rest } = plays[item] ?? { verdict: yes, after: 0, rest: 0 }
      log.push(`start ${item}`)
      const answer = clock.schedule(after, () => {
        receiver.next(verdict)
      })
      const end = clock.schedule(after + rest, () => {
        log.push(`rest ${item}`)
        receiver.complete()
      })
      return () => {
        log.push(`cancel ${item}`)
        answer()
        end()
      }
    },
    () => () => Promise.resolve(),
  )
  const work: Relay<string> = relay<string>({
    sink,
    outbox: outbox?.(clock) ?? memoryOutbox(),
    retry: exponential({ base: 1_000 }),
    clock,
    random: () => 0,
    maxInFlight: 10,
    ended: (outcome) => log.push(`${outcome._tag} ${outcome.item}`),
  })
  for (const item of Object.keys(plays)) void work.offer(item)
  return { clock, log, work }
}

const watch = <A>(closing: Promise<CloseResult<A>>): { done: CloseResult<A> | undefined } => {
  const seen: { done: CloseResult<A> | undefined } = { done: undefined }
  void closing.then((closed) => (seen.done = closed))
  return seen
}

describe('closeRelay', () => {
  it('waits for what is in flight, then resolves with the totals', async () => {
    const { clock, work } = world({ a: { verdict: yes, after: 3_000, rest: 0 } })
    const seen = watch(closeRelay(work, { clock, within: 30_000, lastAttempt: 5_000 }))
    await clock.advance(2_999)
    expect(seen.done).toBeUndefined()
    await clock.advance(1)
    expect(seen.done).toMatchObject({ totals: { accepted: 1, delivered: 1, waiting: 0 }, abandoned: [] })
    expect(clock.pending()).toBe(0)
  })

  it('refuses new items at once', async () => {
    const { clock, work } = world({ a: { verdict: yes, after: 3_000, rest: 0 } })
    void closeRelay(work, { clock, within: 30_000, lastAttempt: 5_000 })
    expect(await work.offer('late')).toEqual(left({ _tag: 'Closed', input: 'late' }))
    await clock.advance(3_000)
  })

  it('tries again what is due in time, and hands back at once what is not', async () => {
    const { clock, log, work } = world({ a: { verdict: busy, after: 0, rest: 0 } })
    const seen = watch(closeRelay(work, { clock, within: 10_000, lastAttempt: 5_000 }))
    await clock.advance(6_999)
    expect(seen.done).toBeUndefined()
    await clock.advance(1)
    // Retries after 1, 2 and 4 s were in time; the one after 8 s is not, and no delay is shortened for it.
    expect(log.filter((line) => line === 'start a')).toHaveLength(4)
    expect(seen.done).toMatchObject({ totals: { abandoned: 1, waiting: 0 }, abandoned: ['a'] })
    expect(clock.pending()).toBe(0)
  })

  it('gives siblings at most one attempt after the last verdict', async () => {
    const { clock, log, work } = world({ a: { verdict: yes, after: 100, rest: 60_000 } })
    const seen = watch(closeRelay(work, { clock, within: 30_000, lastAttempt: 5_000 }))
    await clock.advance(5_099)
    expect(seen.done).toBeUndefined()
    await clock.advance(1)
    expect(seen.done).toMatchObject({ totals: { delivered: 1 } })
    expect(log).toEqual(['start a', 'Delivered a', 'cancel a'])
  })

  it('cuts a sink that has no timeout of its own', async () => {
    const { clock, work } = world({ a: { verdict: yes, after: 1e9, rest: 0 } })
    const seen = watch(closeRelay(work, { clock, within: 1_000, lastAttempt: 5_000 }))
    await clock.advance(5_999)
    expect(seen.done).toBeUndefined()
    await clock.advance(1)
    expect(seen.done).toMatchObject({ totals: { abandoned: 1 }, abandoned: ['a'] })
    expect(clock.pending()).toBe(0)
  })

  it('a durable outbox keeps what has not ended, and reports it as waiting', async () => {
    const on = disk<string>()
    const { clock, work } = world({ a: { verdict: busy, after: 0, rest: 0 } }, (time) =>
      survivingOutbox(on, time),
    )
    const closing = closeRelay(work, { clock, within: 500, lastAttempt: 5_000 })
    await clock.advance(500)
    expect(await closing).toMatchObject({ totals: { accepted: 1, abandoned: 0, waiting: 1 }, abandoned: [] })
    expect([...on.entries.values()]).toMatchObject([{ entry: { item: 'a', progress: { attempts: 1 } } }])
  })
})
