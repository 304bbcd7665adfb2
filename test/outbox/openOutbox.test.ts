/** The option `outbox`: factories, what they are given, and their faults. */
import { expect, it, test } from 'vitest'
import { createClient, storedMessages, type Message } from '../../src/client/index.ts'
import { createCollector } from '../../src/collector/index.ts'
import { ConfigError, storedEvents, webhookDestination } from '../../src/destination/index.ts'
import type { OutboxFactoryOptions } from '../../src/outbox/outbox.ts'
import { sink, systemClock } from '../../src/index.ts'
import { memoryOutbox, type Outbox } from '../../src/outbox/index.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { openOver, track } from '../destination/virtual.ts'
import { throwing } from '../support/check.ts'

const settings = { webhooks: [{ url: 'http://127.0.0.1:9/' }] }
const collectorSettings = {
  sources: [{ id: 'web', writeKey: 'k' }],
  destinations: ['a', 'b'].map((name) => ({ ...settings, name, sources: ['web'] })),
}
const told: string[] = []
const quiet = { logger: false, onEvent: (it: { _tag: string }) => told.push(it._tag) } as const

/** A factory that notes its calls and the closes of what it made, and answers an outbox in memory. */
const noting = (more: object = {}) => {
  const calls: Array<Pick<OutboxFactoryOptions<unknown>, 'onCorrupt'>> = []
  let closes = 0
  const factory = <A>(of: OutboxFactoryOptions<A>): Outbox<A> => {
    calls.push(of)
    const made = memoryOutbox<A>({ sizeOf: (item) => of.codec.sizeOf(item) })
    const close: Outbox<A>['close'] = () => (closes++, made.close())
    return { ...made, ...more, close }
  }
  return { factory, calls, closes: () => closes }
}

const errorWith = (more: object) => expect.objectContaining(more) as Error
const clock = { ...systemClock, now: () => Date.now() }
type Factory = ReturnType<typeof noting>['factory']
const destinationWith = (outbox: Factory) => webhookDestination(settings, { ...quiet, clock, outbox })
const clientWith = (outbox: Factory) => createClient('key', { ...quiet, clock, outbox })
const collectorWith = (made: Factory) => createCollector(collectorSettings, { ...quiet, outbox: () => made })
test.each([
  ['destination', destinationWith, [{ codec: storedEvents, clock }]],
  ['client', clientWith, [{ codec: storedMessages, clock }]],
  ['collector', collectorWith, [{ owner: 'a' }, { owner: 'b' }]],
])('a factory of a %s is told its owner, tells of corrupt records, and is closed', async (_, open, given) => {
  const { factory, calls, closes } = noting()
  const part = open(factory)
  expect(calls).toMatchObject(given)
  for (const { onCorrupt } of calls) onCorrupt?.({ id: '1', raw: '' })
  await part.close({ timeout: 0 })
  expect([closes(), told.splice(0)]).toEqual([given.length, given.map(() => 'Corrupt')])
})

test.each([
  [{}, 'is ordered by the destination', 1],
  [{ orders: true }, 'is not, if it orders by itself', 3],
  [{ orders: true }, 'is, if it was given no key: it is the own outbox of the host', 1, true],
])('an outbox with %j %s', async (more, _, sentAtOnce, isOwn = false) => {
  const { factory, calls } = noting(more)
  let sent = 0
  const never = sink('never', () => new Promise<never>(() => sent++))
  const clock = virtualClock()
  const outbox = isOwn ? factory({ codec: storedEvents }) : factory
  const destination = openOver([never], { ...quiet, clock, orderBy: () => 'one key', outbox })
  for (const id of ['m1', 'm2', 'm3']) await destination.send(track(id))
  await clock.advance(1_000)
  expect(sent).toBe(sentAtOnce)
  // The memory does not order: of what a factory is asked to keep, the key is seen here only.
  const { keyOf } = calls[0] as OutboxFactoryOptions<{ readonly orderKey: string }>
  expect(keyOf?.({ orderKey: 'k' })).toBe(isOwn ? undefined : 'k')
  await clock.run(destination.close({ timeout: 0 }))
})

const rejects = () => Promise.reject(new Error('late'))
const throws = throwing('no such queue')
const early = (of: OutboxFactoryOptions<Message>) => {
  of.onCorrupt?.({ id: '1', raw: '' })
  return memoryOutbox()
}
test.each<readonly [what: string, factory: typeof early | (() => unknown), message: string]>([
  ['calls onCorrupt', early, ', because its factory threw: it called onCorrupt before it answered'],
  ['throws', throws, ', because its factory threw: no such queue'],
  ['rejects', rejects, ': its factory answered a promise, and must answer an Outbox, which may open later'],
  ['answers nothing', () => undefined, ': its factory answered undefined, and must answer an Outbox'],
  ['answers another thing', () => ({}), ': its factory answered an object, and must answer an Outbox'],
])('a factory that %s is a ConfigError', (_, factory, rest) => {
  const outbox = factory as never
  const message = `was not made${rest}`
  const error = errorWith({ name: 'ConfigError', faults: [{ path: 'outbox', message }] })
  expect(() => createClient('key', { ...quiet, outbox })).toThrow(error)
  expect(() => webhookDestination(settings, { ...quiet, outbox })).toThrow(error)
  expect(() => createCollector(collectorSettings, { ...quiet, outbox: () => outbox })).toThrow(
    errorWith({ faults: [{ path: 'destinations[0].outbox', message }] }),
  )
})

it('closes the outbox of a promise that no caller will get', async () => {
  const { factory, closes } = noting()
  const outbox = ((of: OutboxFactoryOptions<Message>) => Promise.resolve(factory(of))) as never
  expect(() => createClient('key', { ...quiet, outbox })).toThrow(ConfigError)
  await new Promise(setImmediate)
  expect(closes()).toBe(1)
})

it('passes on a ConfigError of a factory', () => {
  const fault = new ConfigError('Invalid queue', [{ path: 'orderBy', message: 'is not kept by it' }])
  const outbox = throwing(fault)
  const { message, faults } = fault
  expect(() => createClient('key', { ...quiet, outbox })).toThrow(errorWith({ message, faults }))
})

it('names the destination whose function answers no outbox', () => {
  const outbox = (() => Promise.resolve()) as never
  const message = 'must be an Outbox, a factory of one, or { path } of a folder'
  const error = errorWith({ faults: [{ path: 'destinations[0].outbox', message }] })
  expect(() => createCollector(collectorSettings, { ...quiet, outbox })).toThrow(error)
})

it('of one part is refused to another until it is closed', async () => {
  const outbox = memoryOutbox() as never
  const first = createClient('key', { ...quiet, drainOnExit: false, outbox })
  const again = /outbox is the outbox of another part: give each part one of its own/
  expect(() => createClient('key', { ...quiet, outbox })).toThrow(again)
  expect(() => webhookDestination(settings, { ...quiet, outbox })).toThrow(again)
  await first.close()
  await webhookDestination(settings, { ...quiet, outbox }).close()
  expect(webhookDestination(settings, { ...quiet, outbox }).stats().waiting).toBe(0)
  const same = memoryOutbox() as never
  const fault = 'destinations[1].outbox is the outbox of another part'
  expect(() => createCollector(collectorSettings, { ...quiet, outbox: () => same })).toThrow(fault)
})
