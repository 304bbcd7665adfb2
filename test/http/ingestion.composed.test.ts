import { pipe } from 'fp-ts/lib/function.js'
import { afterEach, describe, expect, it } from 'vitest'
import type { BatchPayload } from '../../src/event/payload.ts'
import { withBisection } from '../../src/sink/bisect.ts'
import { withRetryAfterGate } from '../../src/sink/retryAfterGate.ts'
import { withConcurrency } from '../../src/sink/concurrency.ts'
import type { LogEvent } from '../../src/log/logEvent.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import { relay } from '../../src/outbox/relay.ts'
import type { Relay } from '../../src/outbox/relay.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import { standard } from '../../src/policy/retryPolicy.ts'
import { onlyAttempt } from '../../src/sink/sink.ts'
import { ingestion } from '../../src/http/ingestion.ts'
import { loopbackReceiver } from '../../src/testing/loopbackReceiver.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { virtualClock, type VirtualClock } from '../../src/testing/virtualClock.ts'
import { socketsOpen, until } from './laneKit.ts'
import { type BatchServer, batch, batchServer, type Reply, type Request } from './batchServer.ts'
import { deliverOnce } from '../sink/deliverOnce.ts'

type Batch = BatchPayload<string>

const cleaners: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const clean of cleaners.splice(0).reverse()) await clean()
  await until(() => socketsOpen() === 0)
})

interface Scene {
  readonly server: BatchServer
  readonly clock: VirtualClock
  readonly work: Relay<Batch>
  readonly ended: ReadonlyArray<Outcome<Batch>>
  readonly waits: ReadonlyArray<number>
}

/** The whole way of a batch: as the client composes it, over a real server and a clock that a test moves. */
const open = async (
  reply: (request: Request, index: number) => Reply,
  concurrency = 1,
  only?: ReadonlyArray<number>,
): Promise<Scene> => {
  const clock = virtualClock()
  const server = await batchServer(reply)
  cleaners.push(server.close)
  const bare = ingestion(server.origin, 'key', { clock, connections: concurrency })
  cleaners.push(bare.close(0))
  const sink = pipe(
    bare,
    withBisection(only === undefined ? { clock } : { clock, only }),
    withRetryAfterGate({ clock }),
    withConcurrency<Batch>({ concurrency, clock }),
  )
  const ended: Array<Outcome<Batch>> = []
  const waits: number[] = []
  const work = relay<Batch>({
    sink,
    outbox: memoryOutbox({ maxCount: 100, maxBytes: 1_000_000 }),
    retry: standard,
    clock,
    random: seededRandom(5),
    maxInFlight: 100,
    onEvent: (happening: LogEvent) => {
      if (happening._tag === 'Waiting') waits.push(happening.delay)
    },
    ended: (outcome) => ended.push(outcome),
  })
  return { server, clock, work, ended, waits }
}

const ids = ({ server }: Scene): ReadonlyArray<string> =>
  server.requests.map((request) => request.ids.join(''))

describe('clients/27: a 400 for a batch', () => {
  const picky = ({ ids: each }: Request): Reply =>
    each.includes('c') ? { status: 400, body: `{"error":"${each.length} with c"}` } : {}

  it('costs one message, which fails with the words of the server', async () => {
    const scene = await open(picky)
    void scene.work.offer(batch('a', 'b', 'c', 'd', 'e'))
    await until(() => scene.ended.length === 1)
    expect(ids(scene)).toEqual(['abcde', 'abc', 'ab', 'c', 'de'])
    const yes = { right: { status: 200 } }
    const no = { left: { _tag: 'Refused', status: 400, detail: '{"error":"1 with c"}' } }
    expect(scene.ended).toMatchObject([
      { _tag: 'Rejected', attempts: 1, failure: { members: [yes, yes, no, yes, yes] } },
    ])
  })

  it('costs all of them with the option off', async () => {
    const scene = await open(picky, 1, [])
    void scene.work.offer(batch('a', 'c'))
    await until(() => scene.ended.length === 1)
    expect(scene.ended).toMatchObject([{ _tag: 'Rejected', failure: { _tag: 'Refused', status: 400 } }])
  })

  it('a 413 is halved likewise, also while the server stumbles: nobody is sent twice who was taken', async () => {
    const scene = await open(({ ids: each }, index) => {
      if (index === 3) return { status: 503 }
      return each.length > 2 ? { status: 413 } : {}
    })
    void scene.work.offer(batch('a', 'b', 'c', 'd', 'e', 'f'))
    await until(() => scene.waits.length === 1)
    expect(ids(scene)).toEqual(['abcdef', 'abc', 'ab', 'c'])
    scene.clock.tick(scene.waits[0] ?? 0)
    await until(() => scene.ended.length === 1)
    expect(ids(scene).slice(4)).toEqual(['cdef', 'cd', 'ef'])
    expect(scene.ended).toMatchObject([{ _tag: 'Delivered', attempts: 2 }])
  })
})

it.each([401, 402, 403, 404])('clients/28: a %d fails the batch at once', async (status) => {
  const scene = await open(() => ({ status }))
  void scene.work.offer(batch('a', 'b', 'c'))
  await until(() => scene.ended.length === 1)
  expect(scene.ended).toMatchObject([{ _tag: 'Rejected', failure: { _tag: 'Refused', status } }])
  expect(scene.server.requests).toHaveLength(1)
})

it('clients/30: 503, 503, 200 is three requests: same messages, same order, fresh sentAt, counted', async () => {
  const scene = await open((_request, index) => ({ status: index < 2 ? 503 : 200 }))
  void scene.work.offer(batch('a', 'b'))
  for (let retry = 0; retry < 2; retry++) {
    await until(() => scene.waits.length > retry)
    scene.clock.tick(scene.waits[retry] ?? 0)
  }
  await until(() => scene.ended.length === 1)
  expect(ids(scene)).toEqual(['ab', 'ab', 'ab'])
  const stamps = scene.server.requests.map(({ text }) => /"sentAt":"(.*)"/.exec(text)?.[1])
  expect(new Set(stamps).size).toBe(3)
  expect(scene.server.requests.map(({ headers }) => headers['x-retry-count'])).toEqual(['0', '1', '2'])
  expect(scene.waits[0]).toBeLessThanOrEqual(1_000)
  expect(scene.waits[1]).toBeLessThanOrEqual(2_000)
})

it('clients/31: a Retry-After holds back every batch until its moment', async () => {
  const scene = await open(
    (_request, index) => (index === 0 ? { status: 429, headers: { 'Retry-After': '2' } } : {}),
    4,
  )
  void scene.work.offer(batch('a'))
  await until(() => scene.waits.length === 1)
  void scene.work.offer(batch('b'))
  void scene.work.offer(batch('c'))
  scene.clock.tick(1_999)
  expect(scene.waits).toEqual([2_000, 2_000, 2_000])
  expect(scene.server.requests).toHaveLength(1)
  scene.clock.tick(1)
  await until(() => scene.ended.length === 3)
  expect(ids(scene).slice(1).toSorted()).toEqual(['a', 'b', 'c'])
  // Held back is no attempt: nothing was started.
  expect(scene.ended.map(({ attempts }) => attempts).toSorted((a, b) => a - b)).toEqual([1, 1, 2])
})

describe('clients/34: a server that never answers', () => {
  it('ends at the timeout, and what it says later is nobody’s', async () => {
    const clock = virtualClock()
    const receiver = await loopbackReceiver([{ do: 'status', code: 200, after: 20_000 }], { clock })
    cleaners.push(receiver.close)
    const sink = ingestion(receiver.url, 'key', { clock })
    cleaners.push(sink.close(0))
    const seen = deliverOnce(sink, batch('a'))
    await receiver.arrived(1)
    clock.tick(9_999)
    expect(receiver.connections()).toBe(1)
    clock.tick(1)
    expect(await seen).toMatchObject({
      verdicts: [{ left: { _tag: 'Retryable', reason: 'timeout' } }],
      end: 'complete',
    })
    await until(() => receiver.connections() === 0)
    clock.tick(20_000)
    expect(clock.pending()).toBe(0)
    expect(await deliverOnce(sink, batch('b'))).toMatchObject({ verdicts: [{ _tag: 'Right' }] })
  })

  it('a cancel destroys its socket at once and leaves no timer', async () => {
    const clock = virtualClock()
    const receiver = await loopbackReceiver([{ do: 'silence' }])
    cleaners.push(receiver.close)
    const sink = ingestion(receiver.url, 'key', { clock })
    cleaners.push(sink.close(0))
    const told: unknown[] = []
    const subscription = sink.deliver(batch('a'), onlyAttempt).subscribe((verdict) => told.push(verdict))
    await receiver.arrived(1)
    subscription.unsubscribe()
    expect(clock.pending()).toBe(0)
    await until(() => receiver.connections() === 0)
    expect(told).toEqual([])
  })
})
