/** Messages of a broker through random pipelines: how each one is answered. */
import * as fc from 'fast-check'
import { isRight, left, map as onRight, right, type Either } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { concatMap, map, Subject, type Observable, type OperatorFunction } from 'rxjs'
import { it } from 'vitest'
import { batch, deliver, enrich, filterRight, flatMapRight, mapRight, partlyFailed } from '../../src/index.ts'
import { refused, retryable, sink, splitRight, tapRight, validateRight } from '../../src/index.ts'
import type { ItemBatch, Verdict } from '../../src/index.ts'
import { memoryOutbox, type Outbox } from '../../src/outbox/index.ts'
import { both, exponential, limitRetries } from '../../src/policy/index.ts'
import { acknowledged } from '../../src/sources/acknowledged.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { holds, lawTable, same, type Drawn } from '../support/check.ts'

export interface Acknowledging {
  readonly acknowledged: typeof acknowledged
  readonly splitRight: typeof splitRight
  readonly batch: typeof batch
  readonly deliver: typeof deliver
}
type Verb = 'ack' | 'reject' | 'nak'

/** How a part ends in the pipeline; undefined if it comes to the outbox. */
const early = { throws: 'reject', invalid: 'reject', left: 'reject', skipped: 'ack', lost: 'nak' } as const
/** How a part ends that no durable outbox has. */
const late = { taken: 'ack', later: 'ack', refused: 'reject', never: 'reject', huge: 'reject' } as const
const outboxes = { memory: undefined, durable: 'ack', full: 'nak', breaks: 'nak' } as const
const { invalid: _, ...valid } = early
const check = t.type({ name: t.string, fate: t.keyof({ ...late, ...valid }) })
type Fate = keyof typeof early | keyof typeof late
const keysOf = <K extends string>(record: Readonly<Record<K, unknown>>) => Object.keys(record) as K[]
const steps = ['map', 'tap', 'flatMap', 'enrich', 'of the host'] as const
const message = fc.record({
  fates: fc.array(fc.constantFrom<Fate>('taken', 'taken', ...keysOf(late), ...keysOf(early)), {
    maxLength: 3,
  }),
  isGone: fc.nat(9).map((n) => n === 0),
  call: fc.constantFrom('at once', 'at once', 'later', 'throws', 'rejects'),
})
const world = fc.record({
  messages: fc.array(message, { maxLength: 12, size: 'max' }),
  steps: fc.shuffledSubarray([...steps]),
  maxCount: fc.option(fc.integer({ min: 1, max: 4 })),
  outbox: fc.constantFrom('memory', 'memory', ...keysOf(outboxes)),
  window: fc.integer({ min: 1, max: 6 }),
  pace: fc.nat(3),
  takes: fc.nat(5),
  extendEvery: fc.integer({ min: 1, max: 9 }),
  fails: fc.boolean(),
  cut: fc.option(fc.record({ at: fc.nat(30), by: fc.constantFrom('unsubscribe', 'stop') }), { freq: 3 }),
})
type World = Drawn<typeof world>
type Part = Readonly<{ name: string; fate: Fate }>
type Message = Readonly<{ id: number; parts: ReadonlyArray<Part> }>
type Parts = Either<unknown, Part>
const partsIn = (item: Part | ItemBatch<Part>): ReadonlyArray<Part> => ('items' in item ? item.items : [item])

const play = async (ops: Acknowledging, asked: World) => {
  const { messages, maxCount, outbox: kind, takes, cut, extendEvery } = asked
  const clock = virtualClock()
  const answers: Array<{ id: number; verb: Verb; at: number; isSafe: boolean }> = []
  const extended: Array<readonly [id: number, at: number]> = []
  const readAt: number[] = []
  const safe = new Set<string>()
  const failed = new Set<string>()
  const settled = new Map<number, number>()
  const seen: { beyond: number; end?: { how: string; open: number; at: number } } = { beyond: 0 }
  // A message that the host loses keeps its place.
  const window = asked.window + messages.filter(({ fates }) => fates.includes('lost')).length

  const source = async function* (): AsyncGenerator<Message> {
    for (const [id, { fates }] of messages.entries()) {
      if (asked.pace > 0) await clock.sleep(asked.pace)
      seen.beyond = Math.max(seen.beyond, readAt.length - settled.size - window + 1)
      readAt.push(clock.now())
      yield { id, parts: fates.map((each, at) => ({ name: `${id}.${at}`, fate: each })) }
    }
    if (asked.fails) throw new Error('source')
  }
  const answer = (verb: Verb) => (of: Message) => {
    const isSafe = of.parts.every((part) => part.fate === 'skipped' || safe.has(part.name))
    answers.push({ id: of.id, verb, at: clock.now(), isSafe })
    const how = messages[of.id]?.call
    if (how === 'later') return clock.sleep(3).then(() => settled.set(of.id, clock.now()))
    settled.set(of.id, clock.now())
    if (how === 'throws') throw new Error('planted')
    return how === 'rejects' ? Promise.reject(new Error('planted')) : undefined
  }
  const verdictOf = (part: Part): Verdict => {
    if (part.fate === 'refused') return left(refused('planted'))
    const mayFail = part.fate === 'never' || (part.fate === 'later' && !failed.has(part.name))
    failed.add(part.name)
    if (mayFail) return left(retryable('planted'))
    safe.add(part.name)
    return right({ sink: 's' })
  }
  const target = sink('s', async (item: Part | ItemBatch<Part>) => {
    if (takes > 0) await clock.sleep(takes)
    const verdicts = partsIn(item).map(verdictOf)
    return verdicts.every(isRight) || !('items' in item) ? verdicts[0] : left(partlyFailed(verdicts))
  })
  const store = memoryOutbox<Part | ItemBatch<Part>>({
    clock,
    ...(kind === 'full' && { maxBytes: 1, sizeOf: () => 2 }),
  })
  const enqueue: typeof store.enqueue = async (items) => {
    await clock.sleep(1)
    if (kind === 'breaks') throw new Error('planted')
    for (const part of items.flatMap(partsIn)) safe.add(part.name)
    return store.enqueue(items)
  }
  const isAsync = kind === 'durable' || kind === 'breaks'
  const outbox: Outbox<Part | ItemBatch<Part>> = isAsync
    ? { ...store, enqueue, keeps: () => true, takeRemaining: () => [] }
    : store

  const stepOf: Readonly<Record<(typeof steps)[number], OperatorFunction<Parts, Parts>>> = {
    map: mapRight((part: Part) => part),
    tap: tapRight((part: Part) => part),
    flatMap: flatMapRight((part: Part) => right(part)),
    enrich: enrich((part: Part) => clock.sleep(1).then(() => part), { concurrency: 2 }),
    'of the host': concatMap((each) => clock.sleep(1).then(() => each)),
  }
  const stop = new Subject<void>()
  const pipeline: OperatorFunction<Either<never, Message>, unknown> = (items$) => {
    const split$ = items$.pipe(ops.splitRight(({ parts }) => parts))
    const parts$ = asked.steps
      .reduce<Observable<Parts>>((all$, name) => all$.pipe(stepOf[name]), split$)
      .pipe(
        tapRight(({ fate }) => fate === 'throws' && JSON.parse('')),
        validateRight(check),
        flatMapRight((part) => (part.fate === 'left' ? left(part) : right(part))),
        filterRight(({ fate }) => fate !== 'skipped'),
        map((one) => (isRight(one) && one.right.fate === 'lost' ? onRight((part: Part) => part)(one) : one)),
      )
    const options = { outbox, clock, retry: both(exponential({ base: 2 }), limitRetries(2)), stop }
    const sizeOf = ({ fate }: Part): number => (fate === 'huge' ? 1e9 : 1)
    if (maxCount === null) return parts$.pipe(ops.deliver<Part | ItemBatch<Part>>(target, options))
    const batches$ = parts$.pipe(ops.batch({ sizeOf, maxCount, maxDelay: 5, clock }))
    return batches$.pipe(ops.deliver<Part | ItemBatch<Part>>(target, options))
  }
  const end = (how: string) => () =>
    (seen.end ??= { how, open: readAt.length - settled.size, at: clock.now() })
  const isGone = ({ id }: Message): boolean => messages[id]?.isGone === true && settled.set(id, 0).has(id)
  const calls = { ack: answer('ack'), reject: answer('reject'), nak: answer('nak'), lost: isGone }
  const extend = ({ id }: Message): unknown => extended.push([id, clock.now()])
  const subscription = ops
    .acknowledged(source(), { item: (m) => m, ...calls, extend, extendEvery, window, clock }, pipeline)
    .subscribe({ error: end('error'), complete: end('complete') })
  if (cut !== null) await clock.advance(cut.at)
  if (cut?.by === 'stop') stop.next()
  else if (cut !== null) subscription.unsubscribe()
  if (cut?.by === 'unsubscribe') end(cut.by)()
  for (let i = 0; i < 5; i++) await clock.runAll()
  return { ...seen, answers, extended, settled, readAt, pending: clock.pending() }
}

const verbOf = (parts: ReadonlyArray<Fate>, { outbox, maxCount }: World): Verb => {
  const ends = parts.map((fate): Verb => {
    if (fate in early) return early[fate as keyof typeof early]
    if (fate === 'huge' && maxCount !== null) return 'reject'
    return outboxes[outbox] ?? (fate === 'huge' ? 'ack' : late[fate as keyof typeof late])
  })
  return (['nak', 'reject'] as const).find((verb) => ends.includes(verb)) ?? 'ack'
}

const laws = lawTable(world, play, {
  'K1 each message is answered once, also after a close; one that was lost is not': (trace, { messages }) => {
    const counts = trace.readAt.map((_, id) => trace.answers.filter((each) => each.id === id).length)
    for (const [id, count] of counts.entries()) same(count, messages[id]?.isGone === true ? 0 : 1)
  },
  'K2 a message is acked after all of it was delivered, stored or skipped': ({ answers }) =>
    holds(!answers.some(({ verb, isSafe }) => verb === 'ack' && !isSafe), 'an ack too early'),
  'K3 the worst end of its parts is the answer, in a batch each by its place': ({ answers }, asked) => {
    for (const { id, verb } of asked.cut === null ? answers : [])
      same([id, verb], [id, verbOf(asked.messages[id]?.fates ?? [], asked)])
  },
  'K4 reads only while fewer messages than the window are not answered': ({ beyond }) =>
    holds(beyond <= 0, `${beyond}`),
  'K5 extends each message in its time until its answer settles': (trace, { messages, extendEvery }) => {
    for (const [id, from] of trace.readAt.entries()) {
      const mine = trace.extended.flatMap(([of, at]) => (of === id ? [at - from] : []))
      for (const [n, at] of mine.entries()) same(at, (n + 1) * extendEvery)
      const lived = Math.max(0, Math.min(trace.settled.get(id) ?? from, trace.end?.at ?? Infinity) - from)
      const isRight = mine.length >= Math.ceil(lived / extendEvery) - 1 && mine.length <= lived / extendEvery
      holds(messages[id]?.isGone === true ? mine.length === 0 : isRight, `${mine.length} in ${lived} ms`)
    }
  },
  'K6 ends as its source does, after the last answer, and leaves no timer': (trace, { cut, fails }) => {
    if (cut === null) same([trace.end?.how, trace.end?.open], [fails ? 'error' : 'complete', 0])
    same(trace.pending, 0)
  },
})

export const acknowledgedLaws = laws.each

it('acknowledged keeps its laws', () => fc.assert(laws.all({ acknowledged, splitRight, batch, deliver })))
