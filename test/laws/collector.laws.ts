/** Laws of a collector, in random worlds: a plain model says what each act leads to. */
import * as fc from 'fast-check'
import { right } from 'fp-ts/lib/Either.js'
import { describe, it } from 'vitest'
import type { Collector, CollectorOptions, DestinationOutcome } from '../../src/collector/collector.ts'
import { createCollector, type CollectorSettings } from '../../src/collector/index.ts'
import type { Event } from '../../src/event/index.ts'
import type { Payload } from '../../src/index.ts'
import { scriptedSink, virtualClock } from '../../src/testing/index.ts'
import { ask, basic } from '../collector/kit.ts'
import { lawTable, same, type Drawn } from '../support/check.ts'
import { runs } from '../support/runs.ts'

export type CreateCollector = (settings: CollectorSettings, options: CollectorOptions) => Collector
const SOURCES = ['web', 'app']
const NAMES = ['A', 'B', 'C']
const choice = fc.constantFrom(true, true, false, { x: 1 })
const integrations = fc.dictionary(fc.constantFrom('All', ...NAMES, 'a'), choice, { maxKeys: 4, size: 'max' })
const message = fc.record({
  is: fc.constantFrom('good', 'good', 'good', 'good', 'Invalid', 'TooLarge', 'delete', 'null'),
  integrations,
})
const sending = fc.record({
  do: fc.constantFrom('post', 'post', 'accept'),
  source: fc.constantFrom(...SOURCES),
  messages: fc.array(message, { minLength: 1, maxLength: 6, size: 'max' }),
  integrations,
})
const toggling = fc.record({ do: fc.constantFrom('enable', 'disable'), name: fc.constantFrom(...NAMES) })
const deletes = fc.record({ do: fc.constant('delete user'), sources: fc.subarray(SOURCES, { minLength: 1 }) })
const target = fc.record({
  sources: fc.subarray(SOURCES, { minLength: 1 }),
  enabled: fc.constantFrom(true, true, true, false),
  takes: fc.boolean(),
})
const [often, seldom] = [
  { weight: 6, arbitrary: sending },
  { weight: 2, arbitrary: toggling },
] as const
const act = fc.oneof(often, seldom, { weight: 1, arbitrary: deletes })
const world = fc.record({
  off: fc.subarray(SOURCES, { maxLength: 1 }),
  targets: fc
    .array(target, { minLength: 1, maxLength: NAMES.length })
    .map((all) => all.map((each, at) => ({ name: NAMES[at] ?? '', ...each }))),
  acts: fc.array(act, { minLength: 1, maxLength: 8, size: 'max' }),
  maxCount: fc.constantFrom(1, 3, 100),
  whenFull: fc.constantFrom('deadLetter' as const, 'deadLetter' as const, 'refuse' as const),
})

type World = Drawn<typeof world>
type Message = Drawn<typeof message>
type Act = World['acts'][number]
type Target = World['targets'][number]

const idOf = (at: number, index: number): string => `m${String(at)}.${String(index)}`

const messageOf = ({ is, integrations: own }: Message, messageId: string): unknown => {
  const good = { type: 'track', userId: 'u', event: 'e', messageId, integrations: own }
  if (is === 'null') return null
  if (is === 'Invalid') return { ...good, userId: 5 }
  if (is === 'TooLarge') return { ...good, properties: { text: 'x'.repeat(300) } }
  return is === 'delete' ? { type: 'delete', userId: 'u', messageId } : good
}

/** How an event ended at a destination: the kind of the outcome, or `dead` if there was no room for it. */
const endOf = ({ destination, outcome }: DestinationOutcome): string => {
  const isDeletion = outcome.item.items[0].type === 'delete'
  const isDead =
    outcome._tag === 'Rejected' && outcome.failure._tag === 'Refused' && outcome.failure.reason === 'noRoom'
  return `${isDeletion ? 'delete' : outcome.item.id} ${isDead ? 'dead' : outcome._tag} at ${destination}`
}

const play = async (create: CreateCollector, given: World) => {
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
      ...{ clock, logger: false, newId: () => `made ${String(++made)}`, maxMessageBytes: 300 },
      ...{ maxCount: given.maxCount, whenFull: given.whenFull },
    },
  )
  const told: DestinationOutcome[] = []
  collector.outcomes$.subscribe((each) => told.push(each))

  const perform = async (act: Act, at: number): Promise<unknown> => {
    if ('name' in act) return collector[act.do === 'enable' ? 'enable' : 'disable'](act.name)
    if ('sources' in act) {
      const answer = await collector.requestDeletion('u', { sources: act.sources })
      return answer._tag === 'Right' ? answer.right.notifications : answer.left._tag
    }
    const batch = act.messages.map((one, n) => messageOf(one, idOf(at, n)))
    if (act.do === 'post') {
      const key = { Authorization: basic(`key of ${act.source}:`) }
      const response = await ask(collector, '/v1/batch', { batch, integrations: act.integrations }, key)
      // The answer of a collector, or of a mutant.
      const said = (await response.json()) as {
        receivedEvents?: number
        okEvents?: number
        errors?: ReadonlyArray<{ index: number }>
      }
      return [response.status, said.receivedEvents, said.okEvents, said.errors?.map(({ index }) => index)]
    }
    const accepted: boolean[] = []
    for (const one of batch) accepted.push((await collector.accept(act.source, one))._tag === 'Right')
    return accepted
  }

  /** What each act answers: a post its status, counts and refused indexes. The counts stand after each act. */
  const [answers, counts]: [unknown[], unknown[]] = [[], []]
  for (const [at, act] of given.acts.entries()) {
    answers.push(await perform(act, at))
    const { reasons, sources, destinations, ...all } = collector.stats()
    const { received, accepted, refused, unrouted, deletions } = all
    const { Invalid, TooLarge, Full } = reasons
    const enabled = Object.values(destinations).map((each) => each.enabled)
    counts.push({ received, accepted, refused, unrouted, deletions, Invalid, TooLarge, Full, enabled })
    const sum = (of: (source: (typeof sources)[string]) => number) =>
      Object.values(sources).reduce((total, each) => total + of(each), 0)
    same([sum((each) => each.received), sum((each) => each.accepted + each.refused)], [received, received])
  }
  const closed = collector.close({ timeout: 0 })
  await clock.advance(100_000)
  const { abandoned } = await closed
  const after = Object.values(collector.stats().destinations)
  return {
    ...{ answers, counts, ends: told.map(endOf).toSorted(), timersLeft: clock.pending() },
    abandoned: Object.fromEntries(Object.entries(abandoned).map(([name, all]) => [name, all.length])),
    texts: told.map(({ outcome }) => [outcome.item.id, outcome.item.text]),
    waiting: after.map((all) => all.accepted - all.delivered - all.rejected - all.abandoned),
  }
}

const wants = (name: string, switches: Readonly<Record<string, unknown>>): boolean =>
  (name in switches ? switches[name] : switches['All']) !== false

const model = (given: World) => {
  const { targets, maxCount, whenFull } = given
  const enabled = new Map(targets.map(({ name, enabled: isEnabled }) => [name, isEnabled]))
  const waiting = new Map(targets.map(({ name }) => [name, 0]))
  const reasons = { Invalid: 0, TooLarge: 0, Full: 0 }
  const counts = { received: 0, accepted: 0, refused: 0, unrouted: 0, deletions: 0, ...reasons }
  const trace = { answers: [] as unknown[], counts: [] as unknown[], ends: [] as string[] }

  const enabledFor = (source: string): ReadonlyArray<Target> =>
    targets.filter(({ name, sources }) => sources.includes(source) && enabled.get(name) === true)

  /** Whether there is room: without it all are refused, or those that find none become dead letters. */
  const store = (deliveries: ReadonlyArray<readonly [what: string, at: Target]>): boolean => {
    const lacksRoom = targets.some(({ name }) => {
      return (waiting.get(name) ?? 0) + deliveries.filter(([, at]) => at.name === name).length > maxCount
    })
    if (whenFull === 'refuse' && lacksRoom) return false
    // A target that takes everything makes room when the act is over.
    const held = new Map(waiting)
    for (const [what, { name, takes }] of deliveries) {
      const count = held.get(name) ?? 0
      const isDead = count >= maxCount
      if (!isDead) held.set(name, count + 1)
      if (!takes && !isDead) waiting.set(name, count + 1)
      trace.ends.push(`${what} ${isDead ? 'dead' : takes ? 'Delivered' : 'Abandoned'} at ${name}`)
    }
    return true
  }

  /** The indexes of the refused messages, or undefined if there was no room. */
  const take = (
    all: ReadonlyArray<readonly [id: string, message: Message]>,
    source: string,
    ofBatch: Readonly<Record<string, unknown>>,
  ): ReadonlyArray<number> | undefined => {
    const routed = all.map(([id, { is, integrations: own }]) => {
      if (is !== 'good') return undefined
      const wanting = enabledFor(source).filter(({ name }) => wants(name, { ...ofBatch, ...own }))
      return wanting.map((at) => [id, at] as const)
    })
    const hasRoom = store(routed.flatMap((each) => each ?? []))
    all.forEach(([, { is }], at) => {
      counts.received++
      if (is === 'good' && hasRoom) counts.accepted++
      else counts.refused++
      if (is === 'good' && !hasRoom) counts.Full++
      if (is === 'good' && hasRoom && routed[at]?.length === 0) counts.unrouted++
      if (is !== 'good') counts[is === 'TooLarge' ? is : 'Invalid']++
    })
    return hasRoom ? all.flatMap(([, { is }], at) => (is === 'good' ? [] : [at])) : undefined
  }

  const answerOf = (act: Act, at: number): unknown => {
    if ('name' in act) {
      if (enabled.has(act.name)) enabled.set(act.name, act.do === 'enable')
      return enabled.has(act.name)
    }
    if ('sources' in act) {
      const deletes = (source: string) => enabledFor(source).map((each) => ['delete', each] as const)
      const deliveries = act.sources.flatMap(deletes)
      if (!store(deliveries)) return 'Full'
      counts.deletions += deliveries.length
      return deliveries.length
    }
    const all = act.messages.map((each, n) => [idOf(at, n), each] as const)
    const isOff = given.off.includes(act.source)
    if (act.do === 'accept') return all.map((one) => !isOff && take([one], act.source, {})?.length === 0)
    if (isOff) return [404, undefined, undefined, undefined]
    const refused = take(all, act.source, act.integrations)
    if (refused === undefined) return [503, undefined, undefined, undefined]
    const ok = all.length - refused.length
    return [ok === 0 ? 400 : 200, all.length, ok, refused.length === 0 ? undefined : refused]
  }

  for (const [at, act] of given.acts.entries()) {
    trace.answers.push(answerOf(act, at))
    trace.counts.push({ ...counts, enabled: [...enabled.values()] })
  }
  return { ...trace, ends: trace.ends.toSorted(), abandoned: Object.fromEntries(waiting) }
}

const laws = lawTable(world, play, {
  'C1 each act is answered as the model does': ({ answers }, given) => same(answers, model(given).answers),
  'C2 after each act the counters are those of the model': ({ counts }, given) =>
    same(counts, model(given).counts),
  'C3 an event ends once at each destination that wants it, and at no other': ({ ends }, given) =>
    same(ends, model(given).ends),
  'C4 an event is the same text at every destination': ({ texts }) =>
    same(new Set(texts.map((each) => each.join())).size, new Set(texts.map(([id]) => id)).size),
  'C5 close answers the abandoned events, and leaves nothing': ({ abandoned, waiting, timersLeft }, given) =>
    same([abandoned, ...waiting, timersLeft], [model(given).abandoned, ...waiting.map(() => 0), 0]),
})

export const collectorLaws = laws.each

describe('laws of a collector', () =>
  it('hold in random worlds', () => fc.assert(laws.all(createCollector), { numRuns: runs(0.5) })))
