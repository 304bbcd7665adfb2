/** The published laws of pipelines and clients, over random combinations of sinks, layers and options. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { createClient, type ClientOptions, type Message } from '../../src/client/index.ts'
import { Event, toWebhookBody } from '../../src/event/index.ts'
import { contramap, deliver, encode, failover, firstSuccess, route, toAll } from '../../src/index.ts'
import { validate, withCircuitBreaker, withConcurrency, withDedupe, withObserver } from '../../src/index.ts'
import { withRateLimit, withRetryAfterGate, withTimeout } from '../../src/index.ts'
import type { Layer, Payload, Sink } from '../../src/index.ts'
import { memoryOutbox } from '../../src/outbox/index.ts'
import { both, exponential, limitRetries, standard } from '../../src/policy/index.ts'
import { eventPipeline } from '../../src/testing/laws/brokenParts.ts'
import { clientLaws, pipelineLaws, type PipelineWorld } from '../../src/testing/laws/index.ts'
import type { Drawn } from '../support/check.ts'
import { sized } from '../support/runs.ts'

/** Made anew for each sink. `withBisection` is left out: it sends parts of a refused list again. */
const layers: Readonly<Record<string, () => Layer>> = {
  rate: () => withRateLimit({ perSecond: 1 }),
  breaker: () => withCircuitBreaker({ failures: 1, openTimeout: 1_000 }),
  one: () => withConcurrency({ concurrency: 1 }),
  noQueue: () => withConcurrency({ concurrency: 1, queue: 0 }),
  byText: () => withConcurrency({ concurrency: 2, queue: 1, by: JSON.stringify }),
  gate: () => withRetryAfterGate(),
  dedupe: () => withDedupe({ keyOf: JSON.stringify, keyTimeout: 60_000 }),
  observer: () => withObserver({ onEvent: () => undefined }),
  copy: () => contramap(structuredClone),
  foreign: () => (sink) => ({ ...sink }),
  failover: () => (sink) => failover([sink]),
  toAll: () => (sink) => toAll([sink]),
}
/** For a sink alone: around `toAll` it forgets what the other sinks answered. No answer comes at its end. */
const timeout = () => withTimeout({ timeout: 31.5 })
const leafLayers: typeof layers = { ...layers, timeout }
const namesOf = (of: typeof layers) => fc.array(fc.constantFrom(...Object.keys(of)), { maxLength: 3 })
const around = <A>(sink: Sink<A>, names: ReadonlyArray<string>): Sink<A> =>
  names.reduce((inner, name) => leafLayers[name]?.()(inner) ?? inner, sink)

/** A sink, or several as one, inside layers; the innermost is first. */
interface Tree {
  readonly one: 'sink' | 'toAll' | 'firstSuccess' | 'failover' | 'route'
  readonly of: ReadonlyArray<Tree>
  readonly layers: ReadonlyArray<string>
}
const { tree } = fc.letrec<{ tree: Tree }>((tie) => {
  const one = fc.constantFrom<Array<Tree['one']>>('toAll', 'firstSuccess', 'failover', 'route')
  const of = fc.array(tie('tree'), { minLength: 1, maxLength: 3 })
  const leaf = fc.record<Tree>({ one: fc.constant('sink'), of: fc.constant([]), layers: namesOf(leafLayers) })
  const some = fc.record({ one, of, layers: namesOf(layers) })
  return { tree: fc.oneof({ maxDepth: 2, withCrossShrink: true }, leaf, some) }
})
const isGroup = ({ one, of }: Tree): boolean => one === 'toAll' && of.every((each) => each.one === 'sink')
/** The law `tells-the-truth` knows sinks of which one or all take an item, but not `toAll` around others. */
const isJudged = (tree: Tree): boolean => isGroup(tree) || (tree.one !== 'toAll' && tree.of.every(isJudged))

type Sent = Payload<Event> | ReadonlyArray<Payload<Event>>
type Parts<A> = Readonly<{ sink: Sink<A>; sinks: PipelineWorld<A>['sinks'] }>
const build = <A extends Sent>(tree: Tree, parts: Parts<A>, name = 'route', given?: Sink<A>): Sink<A> => {
  const { one, of, layers } = tree
  const group = isGroup(tree) ? parts.sinks(of.length, 'all') : []
  const child = (each: Tree, at: number) => build(each, parts, `${name}.${at}`, group[at])
  // A failed member may come again in a list with others, so lists have one key.
  const keyOf = (item: A) => ('items' in item ? ['a', 'b'].indexOf(item.items[0].userId ?? '') : 0)
  const open = (key: number) => of.map((each, at) => (at === key ? child(each, at) : undefined))[key]
  if (one === 'sink') return around(given ?? parts.sinks(1)[0] ?? parts.sink, layers)
  if (one === 'route') return around(route({ name, keyOf, open }), layers)
  return around({ toAll, firstSuccess, failover }[one](of.map(child)), layers)
}

const retries = { standard, quick: both(exponential({ base: 100 }), limitRetries(4)) }
const composition = fc.record({
  tree,
  isInLists: fc.boolean(),
  retry: fc.constantFrom<Array<keyof typeof retries>>('standard', 'quick'),
  maxInFlight: fc.constantFrom(1_000, 1, 8),
  room: fc.constantFrom(1_000, 10, 3),
  maxCount: fc.constantFrom(4, 2, 20, 1),
  maxBytes: fc.constantFrom(500_000, 500),
  maxDelay: fc.constantFrom(Infinity, 5_000, 100),
  /** The machine sleeps for so long, 50 ms after the start. */
  sleep: fc.constantFrom(0, 0, 3_000, 14_400_000),
})
const open = (options: ClientOptions) => createClient('a key', options)
type Source = Parameters<typeof eventPipeline>[0]
const encoded = (source$: Source) => source$.pipe(validate(Event), encode(toWebhookBody))

const lawsOf = ({ tree, isInLists, maxInFlight, room, ...given }: Drawn<typeof composition>) => {
  const { retry: name, sleep, ...batch } = given
  const retry = retries[name]
  const options = () => ({ retry, maxInFlight, outbox: memoryOutbox<Payload<Event>>({ maxCount: room }) })
  const sleeping = ({ clock, random }: Pick<PipelineWorld<Sent>, 'clock' | 'random'>) => {
    clock.schedule(50, () => clock.wall(sleep))
    return { clock, random, ...options() }
  }
  const each = pipelineLaws<Payload<Event>>((source$, sink, world) =>
    encoded(source$).pipe(deliver(build(tree, { sink, sinks: world.sinks }), sleeping(world))),
  )
  const inLists = pipelineLaws<ReadonlyArray<Payload<Event>>>((source$, sink, world) =>
    encoded(source$).pipe(deliver(build(tree, { sink, sinks: world.sinks }), { batch, ...sleeping(world) })),
  )
  const clients = clientLaws((options) => {
    const limits = { maxCount: room, overflow: isInLists ? 'dropOldest' : 'error' } as const
    const outbox = maxInFlight === 1 ? { outbox: memoryOutbox<Message>({ maxCount: room }) } : limits
    const layer: Layer = (sink) => around(sink, tree.layers)
    return open({ ...options, ...outbox, layer, retry, flushAfter: batch.maxDelay })
  })
  return [...(isInLists ? inLists : each), ...clients]
}

const laws = [...pipelineLaws(eventPipeline), ...clientLaws(open)]
/** As `checkLaws`, it asks that each situation is reached. */
it.each(laws)('$id', async ({ id, input, situations }) => {
  const reached = new Set<string>()
  const run = { reach: (situation: string) => void reached.add(situation), log: () => undefined }
  const given = composition.filter(({ tree }) => id !== 'pipeline/tells-the-truth' || isJudged(tree))
  const property = fc.asyncProperty(given, input, async (drawn, each) =>
    lawsOf(drawn)
      .find((law) => law.id === id)
      ?.check(each, run),
  )
  await fc.assert(property, { numRuns: sized({ short: 120, full: 2_000, long: 20_000 }) })
  expect(situations.filter((situation) => !reached.has(situation))).toEqual([])
})
