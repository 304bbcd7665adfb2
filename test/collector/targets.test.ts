import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { refused, type Payload } from '../../src/index.ts'
import { memoryOutbox, type Outbox } from '../../src/outbox/index.ts'
import type { Event } from '../../src/event/index.ts'
import type { LogEvent } from '../../src/log/index.ts'
import { scriptedSink, virtualClock, type VirtualClock } from '../../src/testing/index.ts'
import { sharedStore, type SharedStore } from '../support/sharedStore.ts'
import { postTracks, track } from './kit.ts'
import { createCollector, type CollectorOptions, type DestinationOutcome } from '../../src/collector/index.ts'

type Delivery = Payload<Event>
const sources = [{ id: 'web', writeKey: 'wk' }]

/** Destination A delivers after 10 ms, B after `slow`. */
const start = (options: (clock: VirtualClock) => CollectorOptions = () => ({}), slow = 10) => {
  const clock = virtualClock()
  const events: LogEvent[] = []
  const outcomes: DestinationOutcome[] = []
  const own = (name: string, after: number) =>
    scriptedSink<Delivery>({ name, clock, reply: () => ({ verdict: right({ sink: name }), after }) })
  const destinations = [
    { name: 'A', sources: ['web'], sink: own('a', 10) },
    { name: 'B', sources: ['web'], sink: own('b', slow) },
  ]
  const collector = createCollector(
    { sources, destinations },
    { clock, logger: false, random: () => 0, onEvent: (event) => events.push(event), ...options(clock) },
  )
  collector.outcomes$.subscribe((outcome) => outcomes.push(outcome))
  const ended = (): ReadonlyArray<string> =>
    outcomes.map(({ destination, outcome }) => `${outcome._tag} ${outcome.item.id} at ${destination}`)
  return { clock, collector, events, outcomes, ended }
}

it('hands back what waits at destinations of any name', async () => {
  const clock = virtualClock()
  const sink = scriptedSink<Delivery>({ clock, reply: () => ({ verdict: right({ sink: 's' }), after: 1e6 }) })
  const destinations = ['__proto__', 'constructor'].map((name) => ({ name, sources: ['web'], sink }))
  const collector = createCollector({ sources, destinations }, { clock, logger: false })
  await postTracks(collector, 'm1')
  const closing = collector.close({ timeout: 0 })
  await clock.advance(100_000)
  const { abandoned } = await closing
  expect(Object.entries(abandoned)).toMatchObject(destinations.map(({ name }) => [name, [{ id: 'm1' }]]))
})

describe('outboxes of a collector', () => {
  it('are waited for: the answer comes when everything is stored', async () => {
    const stores = new Map<string, SharedStore<Delivery>>()
    const world = start((clock) => ({
      outbox: (name) => {
        const store = sharedStore<Delivery>(clock, { latency: name === 'A' ? 5 : 20 })
        stores.set(name, store)
        return store.open().outbox
      },
    }))
    const stored = ['A', 'B'].map((name) => () => {
      const { entries = () => [], ended = [] } = stores.get(name) ?? {}
      return entries().length + ended.length
    })
    let status: number | undefined
    void postTracks(world.collector, 'm1', 'm2').then((response) => (status = response.status))
    await world.clock.advance(19)
    expect([...stored.map((count) => count()), status]).toEqual([2, 0, undefined])
    await world.clock.advance(1)
    expect([...stored.map((count) => count()), status]).toEqual([2, 2, 200])
    const closed = world.collector.close()
    await world.clock.advance(60_000)
    expect((await closed).totals).toMatchObject({ accepted: 4, delivered: 4 })
  })

  it.each<[string, Partial<Outbox<Delivery>>]>([
    ['rejects', { enqueue: () => Promise.reject(new Error('disk full')) }],
    ['throws', { enqueue: () => expect.unreachable() }],
    [
      'fails to add a dead letter',
      {
        enqueue: (items) => items.map((input) => left({ _tag: 'Full', bound: 'count', limit: 1, input })),
        addDeadLetter: () => Promise.reject(new Error('disk full')),
      },
    ],
  ])('one that %s: the answer is 503, and the others store their events', async (_, broken) => {
    const outbox = (name: string) => ({ ...memoryOutbox<Delivery>(), ...(name === 'A' ? broken : {}) })
    const world = start(() => ({ outbox }))
    const response = await postTracks(world.collector, 'm1')
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '10'])
    expect(await response.json()).toMatchObject({ reason: 'it could not be stored: try again' })
    expect(world.collector.stats()).toMatchObject({ received: 1, refused: 1, reasons: { NotStored: 1 } })
    await world.clock.advance(10)
    expect(world.ended()).toEqual(['Delivered m1 at B'])
    expect(await world.collector.accept('web', track('m2'))).toMatchObject({ left: { _tag: 'NotStored' } })
  })

  it('one that keeps no dead letters of what finds no room is refused, unless such requests are', async () => {
    const outbox = () => ({ ...memoryOutbox<Delivery>({ maxCount: 1 }), addDeadLetter: undefined }) as never
    expect(() => start(() => ({ outbox }))).toThrow('destinations[0].outbox lacks addDeadLetter')
    const world = start(() => ({ outbox, whenFull: 'refuse' }), 1e6)
    expect((await postTracks(world.collector, 'm1', 'm2')).status).toBe(503)
  })

  it('dead letters are stored before the answer', async () => {
    const dead: string[] = []
    const outboxOn = (clock: VirtualClock) => ({
      ...memoryOutbox<Delivery>({ maxCount: 1 }),
      addDeadLetter: async ({ id }: Delivery): Promise<void> => {
        await new Promise<void>((done) => clock.schedule(30, done))
        dead.push(id)
      },
    })
    const world = start((clock) => ({ outbox: () => outboxOn(clock) }), 1e6)
    let status: number | undefined
    void postTracks(world.collector, 'm1', 'm2').then((response) => (status = response.status))
    await world.clock.advance(29)
    expect([dead, status]).toEqual([[], undefined])
    await world.clock.advance(1)
    expect([dead, status]).toEqual([['m2', 'm2'], 200])
  })
})

describe('a full destination', () => {
  it('makes dead letters, which redrive sends', async () => {
    const world = start(() => ({ maxCount: 1 }), 1_000)
    expect((await postTracks(world.collector, 'm1')).status).toBe(200)
    await world.clock.advance(10)
    expect((await postTracks(world.collector, 'm2')).status).toBe(200)
    expect(world.outcomes[1]?.outcome).toMatchObject({ attempts: 0, failure: refused('noRoom') })
    await world.clock.advance(1_000)
    expect([await world.collector.redrive('B'), await world.collector.redrive('C')]).toEqual([1, 0])
    await world.clock.advance(1_000)
    expect(world.ended().slice(3)).toEqual(['Delivered m1 at B', 'Delivered m2 at B'])
  })

  const bounds = [{ maxCount: 1 }, { maxBytes: 600 }]
  it.each(bounds)('refuses the whole request with whenFull: refuse and %j', async (bound) => {
    const world = start(() => ({ ...bound, whenFull: 'refuse' }), 1_000)
    expect((await postTracks(world.collector, 'm1')).status).toBe(200)
    const response = await postTracks(world.collector, 'm2')
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '10'])
    expect(await response.text()).toContain('there is no room: try again later')
    expect(world.collector.stats()).toMatchObject({ accepted: 1, refused: 1, reasons: { Full: 1 } })
  })
})

it('a collector logs refusals and unknown keys', async () => {
  const world = start()
  await world.collector.accept('web', track('m1', { sentAt: 'x', userId: 5 }))
  await world.collector.accept('web', track('m2', { rudderId: 'x' }))
  const mine = world.events.filter(({ _tag }) => _tag === 'NotAccepted' || _tag === 'UnknownKeys')
  expect(mine).toMatchObject([{ refusal: { _tag: 'Invalid' } }, { keys: ['rudderId'] }])
})

it('a collector logs what a subscriber throws as a Defect', async () => {
  const world = start()
  world.collector.outcomes$.subscribe(() => expect.unreachable())
  await postTracks(world.collector, 'm1')
  await world.clock.advance(10)
  expect(world.events.filter(({ _tag }) => _tag === 'Defect')).toHaveLength(2)
})
