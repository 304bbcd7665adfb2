/**
 * Random worlds for a collector on a virtual clock: sources, destinations that take at once or never, and what happens to them, all of it as
 * data. `play` interprets it.
 */
import * as fc from 'fast-check'
import { right } from 'fp-ts/lib/Either.js'
import type { Collector, CollectorOptions, CollectorStats } from '../../src/collector/collector.ts'
import type { CollectorSettings } from '../../src/collector/settings.ts'
import type { Event } from '../../src/event/event.ts'
import type { Payload } from '../../src/event/payload.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import { scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { basic } from './mounts.ts'

export type CreateCollector = (settings: CollectorSettings, options: CollectorOptions) => Collector

export interface Place {
  readonly name: string
  readonly sources: ReadonlyArray<string>
  readonly enabled: boolean
  /** Whether its sink takes at once; else it never answers. */
  readonly takes: boolean
}

export interface Message {
  readonly is: 'good' | 'wrong' | 'large' | 'delete' | 'nothing'
  readonly integrations: Readonly<Record<string, unknown>> | undefined
}

interface Sending {
  readonly source: string
  readonly messages: ReadonlyArray<Message>
  /** Of the whole batch. */
  readonly integrations: Readonly<Record<string, unknown>> | undefined
}

export type Act =
  | ({ readonly do: 'post' } & Sending)
  | ({ readonly do: 'accept' } & Sending)
  | { readonly do: 'enable'; readonly name: string }
  | { readonly do: 'disable'; readonly name: string }
  | { readonly do: 'forget'; readonly sources: ReadonlyArray<string> | undefined }

export interface World {
  readonly off: ReadonlyArray<string>
  readonly places: ReadonlyArray<Place>
  readonly acts: ReadonlyArray<Act>
  readonly maxCount: number
  readonly whenFull: 'deadLetter' | 'refuse'
}

/** What came of one act. */
export interface Result {
  /** Ids of the messages, by their places. */
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

export interface Told {
  readonly destination: string
  readonly outcome: Outcome<Payload<Event>>
}

export interface Trace {
  readonly results: ReadonlyArray<Result>
  readonly told: ReadonlyArray<Told>
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
      do: fc.constant('forget'),
      sources: fc.option(fc.subarray(SOURCES, { minLength: 1 }), { nil: undefined }),
    }),
  },
)

export const world: fc.Arbitrary<World> = fc.record({
  off: fc.subarray(SOURCES, { maxLength: 1 }),
  places: fc
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
export const play = async (given: World, create: CreateCollector): Promise<Trace> => {
  const clock = virtualClock()
  let made = 0
  const collector = create(
    {
      sources: SOURCES.map((id) => ({ id, writeKey: `key of ${id}`, enabled: !given.off.includes(id) })),
      destinations: given.places.map(({ name, sources, enabled, takes }) => ({
        name,
        sources,
        enabled,
        sink: scriptedSink<Payload<Event>>({
          name,
          clock,
          reply: () =>
            takes ? { verdict: right({ sink: name }) } : { verdict: right({ sink: name }), after: 1e9 },
        }),
      })),
    },
    {
      clock,
      logger: false,
      newId: () => `made ${String(++made)}`,
      maxCount: given.maxCount,
      maxMessage: 300,
      whenFull: given.whenFull,
    },
  )
  const told: Told[] = []
  collector.outcomes$.subscribe((each) => told.push(each))

  const post = async (source: string, batch: ReadonlyArray<unknown>, ofAll: object) => {
    const response = await collector.handle(
      new Request('http://x/v1/batch', {
        method: 'POST',
        headers: { Authorization: basic(`key of ${source}:`), 'Content-Type': 'application/json' },
        body: JSON.stringify({ batch, ...ofAll }),
      }),
    )
    return { status: response.status, body: (await response.json()) as Result['body'] }
  }

  const results: Result[] = []
  for (const [at, each] of given.acts.entries()) {
    const nothing = { ids: [], status: undefined, body: {}, accepted: [], notifications: undefined }
    if (each.do === 'enable' || each.do === 'disable') {
      collector[each.do](each.name)
      results.push({ ...nothing, stats: collector.stats() })
    } else if (each.do === 'forget') {
      const answer = await collector.requestDeletion(
        'u',
        each.sources === undefined ? {} : { sources: each.sources },
      )
      const notifications = answer._tag === 'Right' ? answer.right.notifications : undefined
      results.push({ ...nothing, notifications, stats: collector.stats() })
    } else {
      const ids = each.messages.map((_, n) => `m${String(at)}.${String(n)}`)
      const messages = each.messages.map((one, n) => messageOf(one, ids[n] ?? ''))
      if (each.do === 'post') {
        const ofAll = each.integrations === undefined ? {} : { integrations: each.integrations }
        const answer = await post(each.source, messages, ofAll)
        results.push({ ...nothing, ids, ...answer, stats: collector.stats() })
      } else {
        const accepted: boolean[] = []
        for (const one of messages) accepted.push((await collector.accept(each.source, one))._tag === 'Right')
        results.push({ ...nothing, ids, accepted, stats: collector.stats() })
      }
    }
  }
  const closed = collector.close({ timeout: 0 })
  await clock.advance(100_000)
  const { abandoned } = await closed
  return { results, told, after: collector.stats(), abandoned, timersLeft: clock.pending() }
}
