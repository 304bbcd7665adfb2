import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { createCollector } from '../../src/collector/createCollector.ts'
import type { Collector, CollectorOptions, DestinationOutcome } from '../../src/collector/collector.ts'
import type { Event } from '../../src/event/event.ts'
import type { Payload } from '../../src/event/payload.ts'
import type { LogEvent } from '../../src/log/logEvent.ts'
import { refused } from '../../src/core/failure.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import type { VirtualClock } from '../../src/testing/virtualClock.ts'
import { disk, survivingOutbox } from '../outbox/survivingOutbox.ts'
import { basic } from './mounts.ts'
import { track } from './setting.ts'

type Delivery = Payload<Event>

interface World {
  readonly clock: VirtualClock
  readonly collector: Collector
  readonly told: LogEvent[]
  readonly outcomes: DestinationOutcome[]
  readonly ended: () => ReadonlyArray<string>
}

/** Destinations A, which takes after 10 ms, and B, which takes after `slow`. */
const start = (options: (clock: VirtualClock) => CollectorOptions = () => ({}), slow = 10): World => {
  const clock = virtualClock()
  const told: LogEvent[] = []
  const outcomes: DestinationOutcome[] = []
  const own = (name: string, after: number) =>
    scriptedSink<Delivery>({ name, clock, reply: () => ({ verdict: right({ sink: name }), after }) })
  const collector = createCollector(
    {
      sources: [{ id: 'web', writeKey: 'wk' }],
      destinations: [
        { name: 'A', sources: ['web'], sink: own('a', 10) },
        { name: 'B', sources: ['web'], sink: own('b', slow) },
      ],
    },
    {
      clock,
      logger: false,
      random: () => 0,
      onEvent: (happening) => told.push(happening),
      ...options(clock),
    },
  )
  collector.outcomes$.subscribe((outcome) => outcomes.push(outcome))
  const ended = (): ReadonlyArray<string> =>
    outcomes.map(({ destination, outcome }) => `${outcome._tag} ${outcome.item.id} at ${destination}`)
  return { clock, collector, told, outcomes, ended }
}

const post = ({ collector }: World, ...ids: ReadonlyArray<string>): Promise<Response> =>
  collector.handle(
    new Request('http://x/v1/batch', {
      method: 'POST',
      body: JSON.stringify({ batch: ids.map((id) => track(id)) }),
      headers: { Authorization: basic('wk:') },
    }),
  )

describe('with outboxes that take their time', () => {
  it('the answer comes when all that was accepted is stored, and not before', async () => {
    const disks = { A: disk<Delivery>(), B: disk<Delivery>() }
    const world = start((clock) => ({
      outbox: (name) =>
        survivingOutbox(name === 'A' ? disks.A : disks.B, clock, { latency: name === 'A' ? 5 : 20 }),
    }))
    let status: number | undefined
    void post(world, 'm1', 'm2').then((response) => (status = response.status))
    await world.clock.advance(19)
    expect([disks.A.appended, disks.B.appended, status]).toEqual([2, 0, undefined])
    await world.clock.advance(1)
    expect([disks.B.appended, status]).toEqual([2, 200])
    const closed = world.collector.close()
    await world.clock.advance(60_000)
    expect((await closed).totals).toMatchObject({ accepted: 4, delivered: 4 })
  })

  it.each<[string, Partial<Outbox<Delivery>>]>([
    ['rejects', { enqueue: () => Promise.reject(new Error('disk full')) }],
    [
      'throws',
      {
        enqueue: () => {
          throw new Error('disk full')
        },
      },
    ],
    [
      'fails to bury',
      {
        enqueue: (items) => items.map((input) => left({ _tag: 'Full', bound: 'count', limit: 1, input })),
        addDeadLetter: () => Promise.reject(new Error('disk full')),
      },
    ],
  ])('one that %s has the request answered 503, and the others keep their share', async (_, broken) => {
    const world = start(() => ({
      outbox: (name) => ({ ...memoryOutbox<Delivery>(), ...(name === 'A' ? broken : {}) }),
    }))
    const response = await post(world, 'm1')
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '10'])
    expect(await response.json()).toMatchObject({ reason: 'it could not be stored: try again' })
    expect(world.collector.stats()).toMatchObject({ received: 1, refused: 1, reasons: { NotStored: 1 } })
    await world.clock.advance(10)
    expect(world.ended()).toEqual(['Delivered m1 at B'])
    expect(await world.collector.accept('web', track('m2'))).toMatchObject({ left: { _tag: 'NotStored' } })
  })

  it('what is buried is stored before the answer', async () => {
    const buried: string[] = []
    const world = start(
      (clock) => ({
        outbox: () => ({
          ...memoryOutbox<Delivery>({ maxCount: 1 }),
          addDeadLetter: (item: Delivery): Promise<void> =>
            new Promise((done) =>
              clock.schedule(30, () => {
                buried.push(item.id)
                done()
              }),
            ),
        }),
      }),
      1e6,
    )
    let status: number | undefined
    void post(world, 'm1', 'm2').then((response) => (status = response.status))
    await world.clock.advance(29)
    expect([buried, status]).toEqual([[], undefined])
    await world.clock.advance(1)
    expect([buried, status]).toEqual([['m2', 'm2'], 200])
  })
})

describe('a destination at its bound', () => {
  it('has its share among its dead letters, from where it can be put back', async () => {
    const world = start(() => ({ maxCount: 1 }), 1_000)
    expect((await post(world, 'm1')).status).toBe(200)
    await world.clock.advance(10)
    expect((await post(world, 'm2')).status).toBe(200)
    await world.clock.advance(10)
    expect(world.ended()).toEqual(['Delivered m1 at A', 'Rejected m2 at B', 'Delivered m2 at A'])
    expect(world.outcomes[1]?.outcome).toMatchObject({ attempts: 0, failure: refused('full') })
    expect(world.collector.stats().destinations['B']).toMatchObject({ accepted: 2, rejected: 1, waiting: 1 })
    await world.clock.advance(1_000)
    expect(await world.collector.redrive('B')).toBe(1)
    expect(await world.collector.redrive('C')).toBe(0)
    await world.clock.advance(1_000)
    expect(world.ended().slice(3)).toEqual(['Delivered m1 at B', 'Delivered m2 at B'])
  })

  it('refuses the whole request if that is wanted, in bytes too', async () => {
    for (const bound of [{ maxCount: 1 }, { maxBytes: 150 }]) {
      const world = start(() => ({ ...bound, whenFull: 'refuse' }), 1_000)
      expect((await post(world, 'm1')).status).toBe(200)
      const response = await post(world, 'm2')
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '10'])
      expect(await world.collector.requestDeletion('u')).toMatchObject({
        ...('maxCount' in bound ? { left: { _tag: 'Full' } } : {}),
      })
      expect(world.collector.stats()).toMatchObject({ accepted: 1, refused: 1, reasons: { Full: 1 } })
    }
  })
})

describe('a collector', () => {
  it('switched off for a destination gives it nothing new, and what it has goes on', async () => {
    const world = start()
    await post(world, 'm1')
    expect(world.collector.disable('B')).toBe(true)
    expect(world.collector.disable('C')).toBe(false)
    await post(world, 'm2')
    expect(world.collector.stats().destinations['B']).toMatchObject({ enabled: false, accepted: 1 })
    expect(world.collector.enable('B')).toBe(true)
    await post(world, 'm3')
    await world.clock.advance(10)
    expect(world.ended().filter((each) => each.endsWith('B'))).toEqual([
      'Delivered m1 at B',
      'Delivered m3 at B',
    ])
  })

  it('closes its destinations side by side, and gives the same answer to all who close', async () => {
    const world = start(undefined, 1e6)
    await post(world, 'm1')
    const closed = world.collector.close({ timeout: 1_000 })
    expect(world.collector.close()).toBe(closed)
    await world.clock.advance(6_000)
    const { totals, abandoned } = await closed
    expect(totals).toMatchObject({ accepted: 2, delivered: 1, abandoned: 1, waiting: 0 })
    expect([abandoned['A'], abandoned['B']?.map(({ id }) => id)]).toEqual([[], ['m1']])
    expect(world.clock.pending()).toBe(0)
    await world.collector[Symbol.asyncDispose]()
  })

  it('logs what a subscriber throws as a Defect', async () => {
    const world = start()
    world.collector.outcomes$.subscribe(() => expect.unreachable())
    await post(world, 'm1')
    await world.clock.advance(10)
    const idle = world.collector.idle()
    expect(await idle).toMatchObject({ accepted: 2, delivered: 2 })
    expect(world.told.filter(({ _tag }) => _tag === 'Defect')).toHaveLength(2)
    const closed = world.collector.close()
    await world.clock.runAll()
    await closed
  })

  it('tells refusals and lost keys to those who listen', async () => {
    const world = start()
    await world.collector.accept('web', track('m1', { sentAt: 'x', userId: 5 }))
    await world.collector.accept('web', track('m2', { rudderId: 'x' }))
    const mine = world.told.filter(({ _tag }) => _tag === 'Refused' || _tag === 'UnknownKeys')
    expect(mine).toMatchObject([{ refusal: { _tag: 'Invalid' } }, { keys: ['rudderId'] }])
  })

  it('refuses a message for which the host cannot make an id, and goes on', async () => {
    let broken = true
    const world = start(() => ({
      newId: () => {
        if (broken) throw new Error('no ids')
        return 'made'
      },
    }))
    const ask = () =>
      world.collector.handle(
        new Request('http://x/v1/page', {
          method: 'POST',
          body: '{"userId":"u"}',
          headers: { Authorization: basic('wk:') },
        }),
      )
    expect((await ask()).status).toBe(400)
    broken = false
    expect((await ask()).status).toBe(200)
  })
})
