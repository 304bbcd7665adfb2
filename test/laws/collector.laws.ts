/** Laws of a collector, in random worlds: a model predicts what each act leads to. */
import * as fc from 'fast-check'
import { right } from 'fp-ts/lib/Either.js'
import type {
  Collector,
  CollectorOptions,
  CollectorStats,
  DestinationOutcome,
} from '../../src/collector/collector.ts'
import type { CollectorSettings } from '../../src/collector/settings.ts'
import type { Event } from '../../src/event/event.ts'
import type { Payload } from '../../src/event/payload.ts'
import { scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { ask, basic } from '../collector/kit.ts'
import { describe, it } from 'vitest'
import { createCollector } from '../../src/collector/createCollector.ts'
import { runs } from '../support/runs.ts'

export type CreateCollector = (settings: CollectorSettings, options: CollectorOptions) => Collector

interface Target {
  readonly name: string
  readonly sources: ReadonlyArray<string>
  readonly enabled: boolean
  /** Whether its sink takes at once; else it never answers. */
  readonly takes: boolean
}

interface Message {
  readonly is: 'good' | 'wrong' | 'large' | 'delete' | 'nothing'
  readonly integrations: Readonly<Record<string, unknown>> | undefined
}

interface Sending {
  readonly source: string
  readonly messages: ReadonlyArray<Message>
  /** Of the whole batch. */
  readonly integrations: Readonly<Record<string, unknown>> | undefined
}

type Act =
  | ({ readonly do: 'post' } & Sending)
  | ({ readonly do: 'accept' } & Sending)
  | { readonly do: 'enable'; readonly name: string }
  | { readonly do: 'disable'; readonly name: string }
  | { readonly do: 'delete user'; readonly sources: ReadonlyArray<string> | undefined }

interface World {
  readonly off: ReadonlyArray<string>
  readonly targets: ReadonlyArray<Target>
  readonly acts: ReadonlyArray<Act>
  readonly maxCount: number
  readonly whenFull: 'deadLetter' | 'refuse'
}

/** What came of one act. */
interface Result {
  /** Ids of the messages, by their targets. */
  readonly ids: ReadonlyArray<string>
  /** Of the answer to a post. */
  readonly status: number | undefined
  readonly body: {
    readonly receivedEvents?: number
    readonly okEvents?: number
    readonly errors?: ReadonlyArray<{ readonly index: number }>
  }
  /** Of `accept`: which of them were. Of `forget`: how many notifications, undefined if it was refused. */
  readonly accepted: ReadonlyArray<boolean>
  readonly notifications: number | undefined
  readonly stats: CollectorStats
}

interface Trace {
  readonly results: ReadonlyArray<Result>
  readonly told: ReadonlyArray<DestinationOutcome>
  readonly after: CollectorStats
  readonly abandoned: Readonly<Record<string, ReadonlyArray<Payload<Event>>>>
  readonly timersLeft: number
}

const SOURCES = ['web', 'app']
const NAMES = ['A', 'B', 'C']

const integrations = fc.option(
  fc.dictionary(fc.constantFrom('All', 'A', 'B', 'C', 'a'), fc.constantFrom(true, true, false, { x: 1 }), {
    maxKeys: 4,
    size: 'max',
  }),
  { nil: undefined, freq: 2 },
)

const message: fc.Arbitrary<Message> = fc.record({
  is: fc.constantFrom('good', 'good', 'good', 'good', 'wrong', 'large', 'delete', 'nothing'),
  integrations,
})

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('post', 'post', 'accept'),
      source: fc.constantFrom(...SOURCES),
      messages: fc.array(message, { minLength: 1, maxLength: 6, size: 'max' }),
      integrations,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('enable', 'disable'), name: fc.constantFrom(...NAMES) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('delete user'),
      sources: fc.option(fc.subarray(SOURCES, { minLength: 1 }), { nil: undefined }),
    }),
  },
)

const world: fc.Arbitrary<World> = fc.record({
  off: fc.subarray(SOURCES, { maxLength: 1 }),
  targets: fc
    .tuple(
      ...NAMES.map((name) =>
        fc.record({
          name: fc.constant(name),
          sources: fc.subarray(SOURCES, { minLength: 1 }),
          enabled: fc.constantFrom(true, true, true, false),
          takes: fc.boolean(),
        }),
      ),
    )
    .chain((all) => fc.subarray(all, { minLength: 1 })),
  acts: fc.array(act, { minLength: 1, maxLength: 8, size: 'max' }),
  maxCount: fc.constantFrom(1, 3, 100),
  whenFull: fc.constantFrom('deadLetter', 'deadLetter', 'refuse'),
})

const messageOf = ({ is, integrations: own }: Message, messageId: string): unknown => {
  const routed = own === undefined ? {} : { integrations: own }
  switch (is) {
    case 'good':
      return { type: 'track', userId: 'u', event: 'e', messageId, ...routed }
    case 'wrong':
      return { type: 'track', userId: 5, messageId, ...routed }
    case 'large':
      return { type: 'track', userId: 'u', event: 'e', messageId, properties: { text: 'x'.repeat(300) } }
    case 'delete':
      return { type: 'delete', userId: 'u', messageId }
    case 'nothing':
      return null
  }
}

/** Plays a world to its end, which is a while after its close. */
const play = async (given: World, create: CreateCollector): Promise<Trace> => {
  const clock = virtualClock()
  let made = 0
  const collector = create(
    {
      sources: SOURCES.map((id) => ({ id, writeKey: `key of ${id}`, enabled: !given.off.includes(id) })),
      destinations: given.targets.map(({ name, sources, enabled, takes }) => {
        const reply = { verdict: right({ sink: name }), ...(takes ? {} : { after: 1e9 }) }
        const sink = scriptedSink<Payload<Event>>({ name, clock, reply: () => reply })
        return { name, sources, enabled, sink }
      }),
    },
    {
      ...{ clock, logger: false, newId: () => `made ${String(++made)}`, maxMessage: 300 },
      ...{ maxCount: given.maxCount, whenFull: given.whenFull },
    },
  )
  const told: DestinationOutcome[] = []
  collector.outcomes$.subscribe((each) => told.push(each))

  const perform = async (each: Act, at: number): Promise<Partial<Result>> => {
    if (each.do === 'enable' || each.do === 'disable') {
      collector[each.do](each.name)
      return {}
    }
    if (each.do === 'delete user') {
      const options = each.sources === undefined ? {} : { sources: each.sources }
      const answer = await collector.requestDeletion('u', options)
      return { notifications: answer._tag === 'Right' ? answer.right.notifications : undefined }
    }
    const ids = each.messages.map((_, n) => `m${String(at)}.${String(n)}`)
    const batch = each.messages.map((one, n) => messageOf(one, ids[n] ?? ''))
    if (each.do === 'post') {
      const ofAll = each.integrations === undefined ? {} : { integrations: each.integrations }
      const key = { Authorization: basic(`key of ${each.source}:`) }
      const response = await ask(collector, '/v1/batch', { batch, ...ofAll }, key)
      return { ids, status: response.status, body: (await response.json()) as Result['body'] }
    }
    const accepted: boolean[] = []
    for (const one of batch) accepted.push((await collector.accept(each.source, one))._tag === 'Right')
    return { ids, accepted }
  }

  const results: Result[] = []
  for (const [at, each] of given.acts.entries()) {
    const nothing = { ids: [], status: undefined, body: {}, accepted: [], notifications: undefined }
    results.push({ ...nothing, ...(await perform(each, at)), stats: collector.stats() })
  }
  const closed = collector.close({ timeout: 0 })
  await clock.advance(100_000)
  const { abandoned } = await closed
  return { results, told, after: collector.stats(), abandoned, timersLeft: clock.pending() }
}

/** What is expected of one act. */
interface Expected {
  /** Messages received and accepted, the latter by their targets. */
  readonly received: number
  readonly accepted: ReadonlySet<number>
  readonly unrouted: number
  readonly status: number | undefined
  readonly notifications: number | undefined
  /** Where each accepted message goes, and what becomes of it there: kept or dead, by the place of the message. */
  readonly shares: ReadonlyArray<{ readonly index: number; readonly name: string; readonly dead: boolean }>
}

interface State {
  readonly enabled: Map<string, boolean>
  /** How many wait at each destination. */
  readonly waiting: Map<string, number>
}

type Switches = Readonly<Record<string, unknown>>

const wants = (name: string, switches: Switches): boolean => {
  if (name in switches) return switches[name] !== false
  return switches['All'] !== false
}

const connectedTo = ({ targets }: World, source: string): ReadonlyArray<Target> =>
  targets.filter(({ sources }) => sources.includes(source))

const nothing: Expected = {
  received: 0,
  accepted: new Set(),
  unrouted: 0,
  status: undefined,
  notifications: undefined,
  shares: [],
}

type Delivery = readonly [index: number, target: Target]

/** Gives each target its share, or says that there is no room for all and they are to be refused. */
const stored = (
  deliveries: ReadonlyArray<Delivery>,
  world: World,
  { waiting }: State,
): Expected['shares'] | undefined => {
  const needs = (name: string): number => deliveries.filter(([, each]) => each.name === name).length
  const lacks = world.targets.some(({ name }) => (waiting.get(name) ?? 0) + needs(name) > world.maxCount)
  if (world.whenFull === 'refuse' && lacks) return undefined
  return deliveries.map(([index, { name, takes }]) => {
    const count = waiting.get(name) ?? 0
    if (takes) return { index, name, dead: false }
    if (count < world.maxCount) waiting.set(name, count + 1)
    return { index, name, dead: count >= world.maxCount }
  })
}

const posted = (
  messages: ReadonlyArray<Message>,
  ofAll: Switches,
  source: string,
  world: World,
  state: State,
): Expected => {
  if (world.off.includes(source)) return { ...nothing, status: 404 }
  const good = [...messages.entries()].filter(([, { is }]) => is === 'good')
  const deliveries = good.flatMap(([index, { integrations }]) =>
    connectedTo(world, source)
      .filter(({ name }) => state.enabled.get(name) === true && wants(name, { ...ofAll, ...integrations }))
      .map((target): Delivery => [index, target]),
  )
  const received = messages.length
  const shares = stored(deliveries, world, state)
  if (shares === undefined) return { ...nothing, received, status: 503 }
  const routed = new Set(deliveries.map(([index]) => index))
  return {
    received,
    accepted: new Set(good.map(([index]) => index)),
    unrouted: good.length - routed.size,
    status: good.length === 0 ? 400 : 200,
    notifications: undefined,
    shares,
  }
}

const deleted = (sources: ReadonlyArray<string>, world: World, state: State): Expected => {
  const deliveries = sources.flatMap((source, index) =>
    connectedTo(world, source)
      .filter(({ name }) => state.enabled.get(name) === true)
      .map((target): Delivery => [index, target]),
  )
  const shares = stored(deliveries, world, state)
  return shares === undefined ? nothing : { ...nothing, notifications: deliveries.length, shares }
}

const together = (all: ReadonlyArray<Expected>): Expected => ({
  ...nothing,
  received: all.reduce((sum, { received }) => sum + received, 0),
  accepted: new Set(all.flatMap(({ accepted }, index) => (accepted.size > 0 ? [index] : []))),
  unrouted: all.reduce((sum, { unrouted }) => sum + unrouted, 0),
  shares: all.flatMap(({ shares }, index) => shares.map((share) => ({ ...share, index }))),
})

const expectedOf = (act: Act, world: World, state: State): Expected => {
  switch (act.do) {
    case 'enable':
    case 'disable':
      if (world.targets.some(({ name }) => name === act.name))
        state.enabled.set(act.name, act.do === 'enable')
      return nothing
    case 'delete user':
      return deleted(act.sources ?? ['web', 'app'], world, state)
    case 'post':
      return posted(act.messages, act.integrations ?? {}, act.source, world, state)
    case 'accept':
      return together(act.messages.map((each) => posted([each], {}, act.source, world, state)))
  }
}

/** What is expected of each act of a world. */
const model = (world: World): ReadonlyArray<Expected> => {
  const state: State = {
    enabled: new Map(world.targets.map(({ name, enabled }) => [name, enabled])),
    waiting: new Map(),
  }
  return world.acts.map((act) => expectedOf(act, world, state))
}

/** What is wrong with a trace, or nothing. */
type Broken = (trace: Trace, expected: ReadonlyArray<Expected>, world: World) => string | undefined

const sum = (all: ReadonlyArray<number>): number => all.reduce((total, each) => total + each, 0)

const tagOf = ({ outcome }: DestinationOutcome): string => {
  if (outcome._tag !== 'Rejected') return outcome._tag
  const { attempts, failure } = outcome
  return failure._tag === 'Refused' && failure.reason === 'full' && attempts === 0 ? 'dead' : 'Rejected'
}

const laws: Readonly<Record<string, Broken>> = {
  'received = accepted + refused after every act': ({ results }, expected) => {
    for (const [at, { stats }] of results.entries()) {
      const { received, accepted, refused, reasons, unrouted, sources } = stats
      const sofar = expected.slice(0, at + 1)
      if (received !== sum(sofar.map((each) => each.received))) return `${String(received)} received`
      if (accepted !== sum(sofar.map((each) => each.accepted.size))) return `${String(accepted)} accepted`
      if (unrouted !== sum(sofar.map((each) => each.unrouted))) return `${String(unrouted)} unrouted`
      if (received !== accepted + refused) return 'what was refused does not add up'
      if (refused < sum(Object.values(reasons).filter((count) => count < refused)))
        return 'more reasons than refusals'
      if (received !== sum(Object.values(sources).map((each) => each.received)))
        return 'sources that do not add up'
    }
    return undefined
  },
  'the answer counts accepted messages, and lists the others': ({ results }, expected) => {
    for (const [at, { status, body, ids }] of results.entries()) {
      const wanted = expected[at]
      if (status === undefined || wanted === undefined) continue
      if (status !== wanted.status) return `${String(status)} and not ${String(wanted.status)}`
      if (status !== 200 && status !== 400) continue
      if (body.receivedEvents !== ids.length || body.okEvents !== wanted.accepted.size) return 'wrong counts'
      const bad = ids.flatMap((_, index) => (wanted.accepted.has(index) ? [] : [index]))
      if ((body.errors ?? []).map(({ index }) => index).join() !== bad.join()) return 'wrong indexes'
    }
    return undefined
  },
  'accept answers as a post does': ({ results }, expected) =>
    results.some(({ accepted }, at) =>
      accepted.some((is, index) => is !== (expected[at]?.accepted.has(index) ?? false)),
    )
      ? 'another answer'
      : undefined,
  'an accepted message has one outcome at each destination that wants it, and none elsewhere': (
    { results, told },
    expected,
  ) => {
    const wanted = expected.flatMap(({ shares, notifications }, at) =>
      notifications === undefined
        ? shares.map(({ index, name }) => `${results[at]?.ids[index] ?? ''} at ${name}`)
        : [],
    )
    const heard = told
      .filter(({ outcome }) => outcome.item.items[0].type !== 'delete')
      .map(({ destination, outcome }) => `${outcome.item.id} at ${destination}`)
    return wanted.toSorted().join() === heard.toSorted().join()
      ? undefined
      : `${heard.join()} for ${wanted.join()}`
  },
  'a full destination makes dead letters of the rest, and takes nothing from the others': (
    { told },
    expected,
    { targets },
  ) => {
    for (const { name, takes } of targets) {
      const mine = expected.flatMap(({ shares }) => shares.filter((share) => share.name === name))
      const tags = told.filter(({ destination }) => destination === name).map(tagOf)
      const count = (tag: string): number => tags.filter((each) => each === tag).length
      const dead = mine.filter((share) => share.dead).length
      if (count('dead') !== dead) return `${String(count('dead'))} dead at ${name}`
      if (count(takes ? 'Delivered' : 'Abandoned') !== mine.length - dead) return `others at ${name}`
    }
    return undefined
  },
  'a deletion goes to each enabled destination of each affected source': (
    { results, told, after },
    expected,
  ) => {
    const wrong = results.findIndex(({ notifications }, at) => notifications !== expected[at]?.notifications)
    if (wrong >= 0) return `${String(results[wrong]?.notifications)} notifications`
    const wanted = expected.flatMap(({ shares, notifications }) =>
      notifications === undefined ? [] : shares.map(({ name }) => name),
    )
    const heard = told.filter(({ outcome }) => outcome.item.items[0].type === 'delete')
    if (heard.length !== wanted.length || after.deletions !== wanted.length) return 'other notifications'
    return heard
      .map(({ destination }) => destination)
      .toSorted()
      .join() === wanted.toSorted().join()
      ? undefined
      : 'notifications elsewhere'
  },
  'an event is the same text at every destination': ({ told }) => {
    const texts = new Map<string, string | undefined>()
    for (const { outcome } of told) {
      const { id, text } = outcome.item
      if (texts.has(id) && texts.get(id) !== text) return `${id} differs`
      texts.set(id, text)
    }
    return undefined
  },
  'totals add up, and close answers the abandoned events': ({ after, told, abandoned, timersLeft }) => {
    for (const [name, stats] of Object.entries(after.destinations)) {
      const count = (tag: string): number =>
        told.filter(({ destination, outcome }) => destination === name && outcome._tag === tag).length
      if (stats.accepted !== stats.delivered + stats.rejected + stats.abandoned + stats.waiting)
        return 'a wrong sum'
      if (stats.delivered !== count('Delivered') || stats.rejected !== count('Rejected'))
        return 'other counts'
      if (stats.waiting !== 0 || abandoned[name]?.length !== count('Abandoned'))
        return `something is left at ${name}`
    }
    return timersLeft === 0 ? undefined : 'a timer is left'
  },
}

/** One property that holds all laws, so that a world is played once. */
export const collectorLaws = (create: CreateCollector): fc.IAsyncProperty<[World]> =>
  fc.asyncProperty(world, async (given) => {
    const trace = await play(given, create)
    const expected = model(given)
    for (const [id, broken] of Object.entries(laws)) {
      const wrong = broken(trace, expected, given)
      if (wrong !== undefined) throw new Error(`${id}: ${wrong}`)
    }
  })

describe('laws of a collector', () =>
  it('hold in random worlds', () => fc.assert(collectorLaws(createCollector), { numRuns: runs(0.5) })))
