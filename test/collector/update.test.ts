import { AsyncLocalStorage } from 'node:async_hooks'
import { left } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { createCollector, type CollectorSettings } from '../../src/collector/index.ts'
import type { Collector, CollectorOptions } from '../../src/collector/collector.ts'
import { closed } from '../../src/core/refusal.ts'
import { memory } from '../../src/sink/memory.ts'
import type { Event } from '../../src/event/event.ts'
import { route, sink, withConcurrency, type Layer, type Payload } from '../../src/index.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import { exponential } from '../../src/policy/index.ts'
import { newFolder } from '../support/folder.ts'
import { closedAfterEach, until } from '../support/http.ts'
import { ask, basic } from './kit.ts'

const { receive, use } = closedAfterEach()

const open = (settings: CollectorSettings, options: CollectorOptions = {}): Collector => {
  const retry = exponential({ base: 5, factor: 1 })
  const collector = createCollector(settings, { logger: false, retry, ...options })
  return use(collector, () => collector.close({ timeout: 0 }))
}

const hook = (name: string, url: string, sources = ['web']) => ({ name, sources, webhooks: [{ url }] })
const web = { id: 'web', writeKey: 'wk' }
const app = { id: 'app', writeKey: 'ak' }
let sent = 0
const send = async (collector: Collector, source = 'web'): Promise<void> => {
  const call = { type: 'track', userId: 'u', event: 'Seen', messageId: `m${String(sent++)}` }
  expect((await collector.accept(source, call))._tag).toBe('Right')
}

describe('update of a collector', () => {
  it('sends to a new destination, and to a destination that is gone only what waits', async () => {
    const [old, next] = [await receive([{ do: 'status', code: 503, after: 40 }]), await receive()]
    const collector = open({ sources: [web], destinations: [hook('Old', old.url)] })
    await send(collector)
    await old.arrived(1)
    expect(collector.update({ sources: [web], destinations: [hook('Next', next.url)] })._tag).toBe('Right')
    await send(collector)
    expect(await collector.idle()).toMatchObject({ accepted: 2, delivered: 2 })
    expect([old.received.length, next.received.length]).toEqual([2, 1])
    expect(Object.keys(collector.stats().destinations)).toEqual(['Next'])
    await until(() => old.connections() === 0)
    const { totals, abandoned } = await collector.close()
    expect([totals.accepted, totals.delivered, abandoned['Next']]).toEqual([2, 2, []])
  })

  it('routes a request that it overtakes as at its start', async () => {
    const to = { name: 'Own', sources: ['web', 'app'], sink: memory() }
    let made = 0
    const newId = (): string => {
      if (++made === 10) collector.update({ sources: [app], destinations: [{ ...to, sources: ['app'] }] })
      return `m${String(made)}`
    }
    const collector = open({ sources: [web, app], destinations: [to] }, { newId })
    const batch = Array.from({ length: 20 }, () => ({ type: 'track', userId: 'u', event: 'Seen' }))
    expect((await ask(collector, '/v1/batch', { batch })).status).toBe(200)
    expect(collector.stats()).toMatchObject({ accepted: 20, unrouted: 0 })
    expect(await collector.idle()).toMatchObject({ delivered: 20 })
  })

  it('changes sources, write keys and connections', async () => {
    const all = { name: 'All of it', sources: ['web', 'app'], sink: memory() }
    const collector = open({ sources: [web, app], destinations: [all] })
    const post = async (key: string): Promise<number> => {
      const body = { userId: 'u', event: 'Seen' }
      return (await ask(collector, '/v1/track', body, { Authorization: basic(`${key}:`) })).status
    }
    expect([await post('wk'), await post('ak')]).toEqual([200, 200])
    const changed = { ...web, writeKey: 'another' }
    collector.update({ sources: [changed], destinations: [{ ...all, sources: ['web'] }] })
    expect([await post('wk'), await post('ak'), await post('another')]).toEqual([401, 401, 200])
    expect(collector.stats()).toMatchObject({ received: 3, accepted: 3, sources: { web: { received: 2 } } })
    expect(Object.keys(collector.stats().sources)).toEqual(['web'])
    expect((await collector.accept('app', {}))._tag).toBe('Left')
  })

  it('refuses the events of a request whose destination leaves while they are stored', async () => {
    const toMemory = (name: string) => ({ name, sources: ['web'], sink: memory() })
    const waiting = memoryOutbox<Payload<Event>>()
    const enqueue: typeof waiting.enqueue = (items) => {
      collector.update({ sources: [web], destinations: [toMemory('Next')] })
      return waiting.enqueue(items)
    }
    const outbox = (at: string) => (at === 'Old' ? { ...waiting, enqueue } : memoryOutbox<Payload<Event>>())
    const collector = open({ sources: [web], destinations: [toMemory('Old')] }, { outbox })
    const batch = Array.from({ length: 3 }, () => ({ type: 'track', userId: 'u', event: 'Seen' }))
    expect((await ask(collector, '/v1/batch', { batch }, { Authorization: basic('wk:') })).status).toBe(503)
    expect(await collector.idle()).toMatchObject({ accepted: 1, delivered: 1 })
  })

  it('is all or nothing', async () => {
    const receiver = await receive()
    const folder = newFolder()
    const kept = hook('Kept', receiver.url)
    const own = { name: 'Own', sources: ['web'], sink: memory() }
    const collector = open({ sources: [web], destinations: [kept, own] })
    const update = (...destinations: CollectorSettings['destinations']) =>
      collector.update({ sources: [web], destinations })
    const stored = { ...kept, outbox: { path: folder } }
    const unknown = [{ path: 'destinations[0].sources[0]' }]
    expect(update({ ...kept, sources: ['none'] })).toMatchObject({ left: unknown })
    const fixed = [{ path: 'destinations[0].outbox' }, { path: 'destinations[1].sink' }]
    expect(update(stored, { ...own, sink: memory() })).toMatchObject({ left: fixed })
    const inUse = open({ sources: [web], destinations: [stored] })
    const message: unknown = expect.stringContaining('destination "Stored": ')
    expect(update(kept, hook('New', receiver.url), { ...stored, name: 'Stored' })).toMatchObject({
      left: [{ path: 'destinations', message }],
    })
    await inUse.close()
    expect(Object.keys(collector.stats().destinations)).toEqual(['Kept', 'Own'])
    await send(collector)
    await collector.idle()
    expect(receiver.received.length).toBe(1)
    await collector[Symbol.asyncDispose]()
    expect(update(kept)).toEqual(left(closed(undefined)))
  })

  it('leaves a folder free if a layer throws', () => {
    const own = { name: 'Own', sources: ['web'], sink: memory(), outbox: { path: newFolder() } }
    const layers: Layer[] = [() => expect.unreachable('planted')]
    const layer: Layer = (inner) => layers.pop()?.(inner) ?? inner
    const collector = open({ sources: [web], destinations: [] }, { layer })
    const update = () => collector.update({ sources: [web], destinations: [own] })
    expect(update).toThrow('planted')
    expect(update()._tag).toBe('Right')
  })

  it('counts the sinks of a route on, the last 500 of them', async () => {
    const one = (name: string) => withConcurrency({ concurrency: 1 })(sink(name, () => Promise.resolve()))
    const byId = route({ keyOf: ({ id }: Payload<Event>) => id, open: one })
    const settings = { sources: [web], destinations: [{ name: 'Own', sources: ['web'], sink: byId }] }
    const collector = open(settings)
    collector.update(settings)
    for (let n = 0; n < 502; n++) await send(collector)
    await collector.idle()
    expect(Object.keys(collector.stats().destinations['Own']?.urls ?? {})).toHaveLength(500)
  })

  it('refuses settings that go against the options', () => {
    const kept = hook('Kept', 'http://127.0.0.1:9/')
    const collector = open({ sources: [web], destinations: [kept] }, { messageIdHeader: 'webhook-id' })
    const standardSecret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`
    expect(collector.update({ sources: [web], destinations: [{ ...kept, standardSecret }] })).toMatchObject({
      left: [{ path: expect.stringMatching(/^destinations\[0\]\./) as unknown }],
    })
  })

  it('takes a destination back that still sends what waits, and keeps its toggle', async () => {
    const busy = { do: 'status', code: 503 } as const
    const receiver = await receive([busy, { ...busy, after: 30 }])
    const settings = { sources: [web], destinations: [hook('A', receiver.url)] }
    const collector = open(settings)
    await send(collector)
    collector.update({ sources: [web], destinations: [] })
    expect(collector.disable('A')).toBe(false)
    collector.update(settings)
    expect(collector.disable('A')).toBe(true)
    collector.update(settings)
    expect(collector.stats().destinations['A']).toMatchObject({ enabled: false, accepted: 1 })
    collector.enable('A')
    await collector.idle()
    await send(collector)
    expect(await collector.idle()).toMatchObject({ accepted: 2, delivered: 2 })
  })

  it('opens destinations in the context of the collector, not of the caller', async () => {
    const caller = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    const own = sink('own', async () => void seen.push(caller.getStore()))
    const collector = open({ sources: [web], destinations: [] })
    const destinations = [{ name: 'Own', sources: ['web'], sink: own }]
    caller.run('a request', () => collector.update({ sources: [web], destinations }))
    await caller.run('another', () => send(collector))
    await collector.idle()
    expect(seen).toEqual([undefined])
  })
})
