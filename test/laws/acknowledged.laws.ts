/** Messages of a broker through random pipelines: how each one is answered. */
import * as fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { concatMap, map, Subject, type OperatorFunction } from 'rxjs'
import { it } from 'vitest'
import { batch, deliver, enrich, filterRight, flatMapRight, isOutcome, isRefusal } from '../../src/index.ts'
import { mapRight, partlyFailed, refused, retryable, sink, splitRight, tapRight } from '../../src/index.ts'
import { validateRight, type ItemBatch, type Verdict } from '../../src/index.ts'
import { memoryOutbox, type Outbox } from '../../src/outbox/index.ts'
import { both, exponential, limitRetries } from '../../src/policy/index.ts'
import { acknowledged } from '../../src/sources/acknowledged.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { holds, lawTable, same } from '../support/check.ts'

export interface Acknowledging {
  readonly acknowledged: typeof acknowledged
  readonly splitRight: typeof splitRight
  readonly batch: typeof batch
  readonly deliver: typeof deliver
}

const fate = fc.constantFrom(
  ...(['taken', 'taken', 'taken', 'later', 'refused', 'never', 'throws'] as const),
  ...(['invalid', 'left', 'skipped', 'huge', 'lost by the host'] as const),
)
const steps = ['map', 'tap', 'flatMap', 'enrich', 'of the host'] as const
const world = fc.record({
  messages: fc.array(
    fc.record({
      fates: fc.array(fate, { maxLength: 3 }),
      isGone: fc.nat(9).map((n) => n === 0),
      /** How the host answers the broker. */
      call: fc.constantFrom('at once', 'at once', 'later', 'throws', 'rejects'),
    }),
    { maxLength: 12, size: 'max' },
  ),
  before: fc.shuffledSubarray([...steps]),
  after: fc.shuffledSubarray([...steps]),
  maxCount: fc.option(fc.integer({ min: 1, max: 4 })),
  outbox: fc.constantFrom('memory', 'memory', 'durable', 'small', 'breaks'),
  window: fc.integer({ min: 1, max: 6 }),
  pace: fc.nat(3),
  takes: fc.nat(5),
  extendEvery: fc.integer({ min: 1, max: 9 }),
  fails: fc.boolean(),
  cut: fc.option(fc.record({ at: fc.nat(30), by: fc.constantFrom('unsubscribe', 'stop') }), { freq: 3 }),
})
type World = typeof world extends fc.Arbitrary<infer W> ? W : never
type Fate = World['messages'][number]['fates'][number]

interface Message {
  readonly id: number
  readonly parts: ReadonlyArray<Part>
}
interface Part {
  readonly of: number
  readonly name: string
  readonly fate: Fate
}
type Item = Part | ItemBatch<Part>
type Verb = 'ack' | 'reject' | 'nak'

const partsIn = (item: unknown): ReadonlyArray<Part> =>
  // All that a world makes of its messages.
  ((item as Partial<ItemBatch<Part>>).items ??
    (item as Partial<Message>).parts ?? [item]) as ReadonlyArray<Part>

/** What came out of the stream, as answers by part, from the table of docs/brokers.md. */
const saidOf = (out: unknown, isDurable: boolean): ReadonlyArray<readonly [Part, Verb]> => {
  if (isRefusal(out)) {
    const verb = ['Invalid', 'TooLarge', 'Threw'].includes(out._tag) ? 'reject' : 'nak'
    return partsIn(out.input).map((part) => [part, verb])
  }
  if (!isOutcome(out)) {
    const { _tag, item } = out as { _tag: string; item: unknown }
    return partsIn(item).map((part) => [part, _tag === 'Skipped' ? 'ack' : 'reject'])
  }
  const whole = out._tag === 'Delivered' || isDurable ? 'ack' : out._tag === 'Abandoned' ? 'nak' : 'reject'
  const failure =
    out._tag === 'Rejected' ? out.failure : out._tag === 'Expired' ? out.failure.lastFailure : undefined
  const verdicts = failure?._tag === 'PartlyFailed' ? failure.members : []
  return partsIn(out.item).map((part, at) => [part, verdicts[at]?._tag === 'Right' ? 'ack' : whole])
}

const play = async (ops: Acknowledging, asked: World) => {
  const { messages, maxCount, outbox: kind, takes, fails, cut, extendEvery } = asked
  const clock = virtualClock()
  const lostByHost = messages.filter(({ fates }) => fates.includes('lost by the host')).length
  const window = asked.window + lostByHost
  const answers: Array<{ id: number; verb: Verb; at: number; isSafe: boolean }> = []
  const extended: Array<readonly [id: number, at: number]> = []
  const readAt: number[] = []
  const outputs: unknown[] = []
  const safe = new Set<string>()
  const settled = new Set<number>()
  let beyond = 0
  let end: { readonly how: string; readonly open: number } | undefined

  const source = async function* (): AsyncGenerator<Message> {
    for (const [id, { fates }] of messages.entries()) {
      if (asked.pace > 0) await clock.sleep(asked.pace)
      beyond = Math.max(beyond, readAt.length - settled.size - window + 1)
      readAt.push(clock.now())
      yield { id, parts: fates.map((each, at) => ({ of: id, name: `${id}.${at}`, fate: each })) }
    }
    if (fails) throw new Error('source')
  }
  const answer = (verb: Verb) => (message: Message) => {
    const { id, parts } = message
    const isSafe = parts.every((part) => part.fate === 'skipped' || safe.has(part.name))
    answers.push({ id, verb, at: clock.now(), isSafe })
    const how = messages[id]?.call
    if (how !== 'later') settled.add(id)
    if (how === 'throws') throw new Error('planted')
    if (how === 'rejects') return Promise.reject(new Error('planted'))
    return how === 'later' ? clock.sleep(3).then(() => settled.add(id)) : undefined
  }
  const failed = new Set<string>()
  const verdictOf = (part: Part): Verdict => {
    const isFirst = !failed.has(part.name)
    if (part.fate === 'refused') return E.left(refused('planted'))
    failed.add(part.name)
    if (part.fate === 'never' || (part.fate === 'later' && isFirst)) return E.left(retryable('planted'))
    safe.add(part.name)
    return E.right({ sink: 's' })
  }
  const target = sink('s', async (item: Item) => {
    if (takes > 0) await clock.sleep(takes)
    const verdicts = partsIn(item).map(verdictOf)
    if (verdicts.every(E.isRight) || !('items' in item)) return verdicts[0]
    return E.left(partlyFailed(verdicts))
  })
  const store = memoryOutbox<Item>({ clock, maxCount: kind === 'small' ? 2 : 100 })
  let enqueued = 0
  const enqueue: Outbox<Item>['enqueue'] = async (items) => {
    await clock.sleep(1)
    if (kind === 'breaks' && enqueued++ % 3 === 1) throw new Error('planted')
    for (const part of items.flatMap(partsIn)) safe.add(part.name)
    return store.enqueue(items)
  }
  const isDurable = kind === 'durable' || kind === 'breaks'
  const outbox: Outbox<Item> = isDurable
    ? { ...store, enqueue, keeps: () => true, takeRemaining: () => [] }
    : store

  const step = <A>(
    name: (typeof steps)[number],
  ): OperatorFunction<E.Either<unknown, A>, E.Either<unknown, A>> =>
    ({
      map: mapRight((item: A) => item),
      tap: tapRight((item: A) => item),
      flatMap: flatMapRight((item: A) => E.right(item)),
      enrich: enrich(async (item: A) => clock.sleep(1).then(() => item), { concurrency: 2 }),
      'of the host': concatMap(async (each: E.Either<unknown, A>) => clock.sleep(1).then(() => each)),
    })[name]
  const chain =
    <A>(
      names: ReadonlyArray<(typeof steps)[number]>,
    ): OperatorFunction<E.Either<unknown, A>, E.Either<unknown, A>> =>
    (items$) =>
      names.reduce((all$, name) => all$.pipe(step<A>(name)), items$)
  const stop = new Subject<void>()
  const retry = both(exponential({ base: 2 }), limitRetries(2))
  const codec = new t.Type<Part, Part, unknown>(
    'Part',
    (_): _ is Part => true,
    (input, context) =>
      (input as Part).fate === 'invalid' ? t.failure(input, context) : t.success(input as Part),
    t.identity,
  )
  const throwing = (part: Part): Part => {
    if (part.fate === 'throws') throw new Error('planted')
    return part
  }
  const subscription = ops
    .acknowledged(
      source(),
      {
        ...{ item: (message) => message, window, extendEvery, clock },
        ...{ ack: answer('ack'), reject: answer('reject'), nak: answer('nak') },
        extend: ({ id }) => extended.push([id, clock.now()]),
        lost: ({ id }) => {
          if (messages[id]?.isGone === true) settled.add(id)
          return messages[id]?.isGone === true
        },
      },
      (items$) => {
        const parts$ = items$.pipe(
          chain<Message>(asked.before),
          ops.splitRight((message) => message.parts),
          chain<Part>(asked.after),
          mapRight(throwing),
          validateRight(codec),
          flatMapRight((part) =>
            part.fate === 'left' ? E.left({ _tag: 'Left', item: part }) : E.right(part),
          ),
          filterRight((part) => part.fate !== 'skipped'),
          map((each) =>
            E.isRight(each) && each.right.fate === 'lost by the host' ? E.map((p: Part) => p)(each) : each,
          ),
        )
        const sizeOf = (part: Part): number => (part.fate === 'huge' ? 1e9 : 1)
        const options = { outbox, clock, retry, stop }
        return maxCount === null
          ? parts$.pipe(ops.deliver<Item>(target, options))
          : parts$.pipe(
              ops.batch({ sizeOf, maxCount, maxDelay: 5, clock }),
              ops.deliver<Item>(target, options),
            )
      },
    )
    .subscribe({
      next: (out) => outputs.push(out),
      error: () => (end = { how: 'error', open: readAt.length - settled.size }),
      complete: () => (end = { how: 'complete', open: readAt.length - settled.size }),
    })
  if (cut !== null) {
    await clock.advance(cut.at)
    if (cut.by === 'stop') stop.next()
    else subscription.unsubscribe()
  }
  for (let i = 0; i < 5; i++) await clock.runAll()
  const isCut = cut !== null
  return { answers, extended, readAt, outputs, beyond, end, isCut, isDurable, pending: clock.pending() }
}

const laws = lawTable(world, play, {
  'K1 each message is answered once, also after a close; one that was lost is not': (
    { answers, readAt },
    { messages },
  ) =>
    same(
      readAt.map((_, id) => answers.filter((each) => each.id === id).length),
      readAt.map((_, id) => (messages[id]?.isGone === true ? 0 : 1)),
    ),
  'K2 a message is acked after all of it was delivered, stored or skipped': ({ answers }) =>
    same(
      answers.filter(({ verb, isSafe }) => verb === 'ack' && !isSafe),
      [],
    ),
  'K3 the worst end of its parts is the answer, of a batch each by its place': (trace, { messages }) => {
    if (trace.isCut) return
    const said = trace.outputs.flatMap((out) => saidOf(out, trace.isDurable))
    for (const { id, verb } of trace.answers) {
      const mine = said.flatMap(([part, own]) => (part.of === id ? [own] : []))
      if (messages[id]?.fates.includes('lost by the host') === true) mine.push('nak')
      const worst = (['nak', 'reject'] as const).find((each) => mine.includes(each)) ?? 'ack'
      same([id, verb], [id, worst])
    }
  },
  'K4 reads only while fewer messages than the window are not answered': ({ beyond }) => same(beyond, 0),
  'K5 extends each message in its time until it is answered': (trace, { messages, extendEvery }) => {
    for (const [id, from] of trace.readAt.entries()) {
      const mine = trace.extended.flatMap(([of, at]) => (of === id ? [at - from] : []))
      same(
        mine,
        mine.map((_, n) => (n + 1) * extendEvery),
      )
      const lived = (trace.answers.find((each) => each.id === id)?.at ?? from) - from
      const [least, most] = [Math.ceil(lived / extendEvery) - 1, Math.floor(lived / extendEvery)]
      if (messages[id]?.isGone === true) same(mine, [])
      else holds(mine.length >= least && mine.length <= most, `${mine.length} in ${lived} ms`)
    }
  },
  'K6 ends as its source does, after the last answer, and leaves no timer': (
    { end, isCut, pending },
    { fails },
  ) => {
    if (!isCut) same(end, { how: fails ? 'error' : 'complete', open: 0 })
    same(pending, 0)
  },
})

export const acknowledgedLaws = laws.each

it('acknowledged keeps its laws', () => fc.assert(laws.all({ acknowledged, splitRight, batch, deliver })))
