import * as fc from 'fast-check'
import { Observable, tap } from 'rxjs'
import { inspect } from 'node:util'
import { isFinal, isRetryable, show as showFailure } from '../../core/failure.ts'
import type { Verdict } from '../../core/failure.ts'
import { isOutcome } from '../../core/outcome.ts'
import type { Outcome, Skipped } from '../../core/outcome.ts'
import { isRefusal, show as showRefusal } from '../../core/refusal.ts'
import type { Refusal, Threw } from '../../core/refusal.ts'
import type { Sink } from '../../sink/sink.ts'
import { withTimeout } from '../../sink/timeout.ts'
import { scriptedSink } from '../scriptedSink.ts'
import { makeWorld, type World } from '../simulate.ts'
import { holds, same } from './assert.ts'
import { lawsOver, type Law, type Run } from './law.ts'
import { anyScript } from './sinkWorld.ts'

/** What the laws check: what becomes of a source, delivered to a sink. Take time and chance from the world. */
export type Pipeline<out P> = (
  source$: Observable<unknown>,
  sink: Sink<P>,
  world: World,
) => Observable<Refusal | Threw | Skipped<unknown> | Outcome<unknown>>

/** What a pipeline takes and promises. */
export interface PipelineLawOptions {
  /**
   * Items that it takes, and some that it refuses. Each must carry the text `mark`, such as an id, through the whole pipeline. Default: calls,
   * of which some are invalid; `mark` is their message id.
   */
  readonly item?: (mark: string) => fc.Arbitrary<unknown>
  /** Promises order: of items with one key, each starts after the end of the one before it. Undefined: no order. Default: no order. */
  readonly keyOf?: (item: unknown) => string | undefined
}

const callOf = (messageId: string): fc.Arbitrary<unknown> =>
  fc.record({ userId: fc.constantFrom('a', 'b') }).chain(({ userId }) =>
    fc.constantFrom<unknown>(
      { type: 'track', event: 'Seen', userId, messageId },
      { type: 'track', event: 'Paid', userId, messageId, properties: { pad: 'x'.repeat(400) } },
      { type: 'identify', userId, messageId, traits: { plan: 'pro' } },
      // A user is missing, the kind is unknown, it is no call at all.
      { type: 'track', event: 'Seen', messageId },
      { type: 'order', userId, messageId },
      messageId,
    ),
  )

/** Stands for the mark until the place of an item is known. */
const MARK = 'law-item-x'
const marked = (item: unknown, n: number): unknown =>
  JSON.parse(JSON.stringify(item).replaceAll(MARK, `law-item-${String(n)}-`))

/** Which items a value carries, wherever. */
const itemsIn = (value: unknown): ReadonlyArray<number> => {
  const text = inspect(value, { depth: 12, maxArrayLength: Infinity, maxStringLength: Infinity })
  return [...new Set([...text.matchAll(/law-item-(\d+)-/g)].map(([, n]) => Number(n)))]
}

const inputs = (item: fc.Arbitrary<unknown>, unsubscribes: boolean) =>
  fc.record({
    seed: fc.nat(),
    items: fc.array(fc.record({ gap: fc.constantFrom(0, 0, 1, 40, 3_000), item }), {
      minLength: 1,
      maxLength: 8,
      size: 'max',
    }),
    /** What the sink does, delivery by delivery. */
    script: anyScript,
    /** The last fault lasts for all later deliveries. */
    isDown: fc.nat(7).map((n) => n === 0),
    /** Deliveries in which the sink throws instead. */
    throwing: fc.array(fc.nat(7), { maxLength: 2 }),
    unsubscribeAt: unsubscribes ? fc.constantFrom(0, 1, 45, 2_000, 9_000) : fc.constant(null),
  })
type Input = ReturnType<typeof inputs> extends fc.Arbitrary<infer I> ? I : never

/** Something at a moment. Several things happen at one time: `order` counts them. */
interface Moment {
  readonly at: number
  readonly order: number
}

interface Sent extends Moment {
  readonly items: ReadonlyArray<number>
  verdict: Verdict | undefined
}

interface Ended extends Moment {
  readonly items: ReadonlyArray<number>
  readonly value: unknown
}

/** What a run leaves behind. */
interface Trace {
  readonly sent: ReadonlyArray<Sent>
  readonly ended: ReadonlyArray<Ended>
  readonly end: string | undefined
  readonly stopped: number
  readonly running: number
  readonly timers: ReadonlyArray<string>
}

/** Longer than the default retry policy goes on. */
const LONG = 6 * 3_600_000
/** Milliseconds of one delivery. */
const TIMEOUT = 5_000

const source = (items: Input['items'], { clock }: World): Observable<unknown> =>
  new Observable((subscriber) => {
    const emit = (n: number): void => {
      const each = items[n]
      if (each === undefined) subscriber.complete()
      else
        subscriber.add(
          clock.schedule(
            each.gap,
            () => {
              subscriber.next(marked(each.item, n))
              emit(n + 1)
            },
            'the source',
          ),
        )
    }
    emit(0)
  })

const play = async <P>(pipeline: Pipeline<P>, input: Input, { reach, log }: Run): Promise<Trace> => {
  const world = makeWorld(input.seed, {}, log)
  const { clock } = world
  const sent: Sent[] = []
  const ended: Ended[] = []
  const throwing = new Set(input.throwing)
  let orders = 0
  let end: string | undefined
  let stopped = Infinity
  const moment = (): Moment => ({ at: clock.monotonic(), order: orders++ })

  const { script, isDown } = input
  const inner = scriptedSink<P>({
    clock,
    script: isDown ? (_, n) => script[Math.min(n, script.length - 1)] ?? { do: 'silence' } : script,
  })
  const { deliver } = withTimeout(TIMEOUT, { clock })(inner)
  const sink: Sink<P> = {
    name: 'laws',
    close: inner.close,
    deliver: (item, attempt) =>
      new Observable((subscriber) => {
        const one: Sent = { ...moment(), items: itemsIn(item), verdict: undefined }
        world.log(`sends ${String(one.items)}`)
        const isThrown = throwing.has(sent.push(one) - 1)
        if (isThrown) reach('the sink throws')
        if (attempt.number > 1) reach('a retry')
        if (isThrown) throw new Error('the sink throws')
        return deliver(item, attempt)
          .pipe(tap((verdict) => (one.verdict = verdict)))
          .subscribe(subscriber)
      }),
  }
  const over = (how: string): void => {
    world.log(how)
    end = end === undefined ? how : `${end}, then ${how}`
  }
  const subscription = pipeline(source(input.items, world), sink, world).subscribe({
    next: (value) => {
      const one = { ...moment(), items: itemsIn(value), value }
      world.log(`${String(one.items)} ended as ${inspect(value, { depth: 1, breakLength: Infinity })}`)
      ended.push(one)
      if (isRefusal(value)) reach('a refusal')
      else if (isOutcome(value)) reach(value._tag)
    },
    error: (error: unknown) => over(`fails with ${String(error)}`),
    complete: () => over('completes'),
  })
  if (input.unsubscribeAt !== null) {
    await clock.advance(input.unsubscribeAt)
    if (inner.running() > 0) reach('unsubscribed while a delivery runs')
    subscription.unsubscribe()
    world.log('unsubscribes')
    stopped = orders
  }
  // Items in order may be retried one after another.
  for (let n = 0; n <= input.items.length && end === undefined && clock.pending() > 0; n++)
    await clock.advance(LONG)
  const timers = clock.timers().map(({ name }) => name)
  subscription.unsubscribe()
  return { sent, ended, end, stopped, running: inner.running(), timers }
}

const isRest = ({ running, timers }: Trace): void => {
  same(
    { 'deliveries that run': running, 'timers that wait': timers },
    { 'deliveries that run': 0, 'timers that wait': [] },
  )
}

/** Each item with its deliveries and its ends. */
const perItem = ({ sent, ended }: Trace, { items }: Input) =>
  items.map((_, n) => ({
    n,
    sent: sent.filter((each) => each.items.includes(n)),
    ended: ended.filter((each) => each.items.includes(n)),
  }))

const reasonOf = (value: unknown): string => {
  if (isRefusal(value)) return showRefusal(value)
  if (!isOutcome(value)) return 'left out'
  if (value._tag === 'Rejected' || value._tag === 'Expired') return showFailure(value.failure)
  return value._tag
}

/** What a seed decides: which items, when and how. Ids may be made by chance of the host. */
const outlineOf = ({ sent, ended, end }: Trace) => ({
  sent: sent.map(({ at, items }) => [at, ...items]),
  ended: ended.map(({ at, items, value }) => [at, reasonOf(value), ...items]),
  end,
})

/**
 * The laws of a pipeline of yours, from its source to its sink. The sink that they give is in memory: it answers, refuses, fails, hangs for 5 s
 * and throws, as a script says. It is told apart by nothing: give it to `deliver` in place of the real one.
 *
 * @example
 * import { deliver, encode, Event, toWebhookBody, validate } from 'headrace'
 * import type { Payload } from 'headrace'
 * import { checkLaws, pipelineLaws } from 'headrace/testing/laws'
 *
 * const laws = pipelineLaws<Payload<Event>>((source$, sink, { clock, random }) =>
 *   source$.pipe(validate(Event), encode(toWebhookBody), deliver(sink, { clock, random })),
 * )
 * const reports = await checkLaws(laws, { runs: 50, seed: 1 })
 * console.log(reports[0]?.text) // => pipeline/ends-once is kept
 */
export const pipelineLaws = <P>(
  pipeline: Pipeline<P>,
  { item = callOf, keyOf }: PipelineLawOptions = {},
): ReadonlyArray<Law> => {
  const given = inputs(item(MARK), false)
  const playOne = (input: Input, run: Run): Promise<Trace> => play(pipeline, input, run)

  const laws = lawsOver('pipeline', given, playOne, {
    'ends-once': {
      statement: 'Each item of the source ends exactly once, also if the sink fails, hangs or throws.',
      check: (trace, input) => {
        for (const { n, ended } of perItem(trace, input))
          holds(ended.length === 1, `item ${String(n)} ended ${String(ended.length)} times`)
      },
      situations: ['a refusal', 'a retry', 'the sink throws', 'Delivered', 'Rejected'],
    },
    'gives-reasons': {
      statement: 'An end is a refusal or an outcome, and what did not succeed says why.',
      check: ({ ended }) => {
        for (const { value } of ended) {
          const isKnown = isRefusal(value) || isOutcome(value) || inspect(value).includes("'Skipped'")
          holds(isKnown, `${inspect(value)} is no end`)
          holds(reasonOf(value) !== '', `${inspect(value)} has no reason`)
        }
      },
      situations: ['a refusal', 'Rejected'],
    },
    'tells-the-truth': {
      statement:
        'An item is delivered if the sink took it, and rejected if the sink refused it for good; not otherwise.',
      check: (trace, input) => {
        for (const { n, sent, ended } of perItem(trace, input)) {
          const taken = sent.some(({ verdict }) => verdict?._tag === 'Right')
          const final = sent.some(({ verdict }) => verdict !== undefined && isFinal(verdict))
          for (const { value } of ended) {
            if (!isOutcome(value)) continue
            const { _tag } = value
            holds(
              taken === (_tag === 'Delivered'),
              `item ${String(n)}: ${_tag}; the sink took it: ${String(taken)}`,
            )
            holds(_tag !== 'Rejected' || final, `item ${String(n)} was rejected without a refusal`)
          }
        }
      },
      situations: ['Delivered', 'Rejected'],
    },
    'sends-again-in-doubt-only': {
      statement: 'An item is sent again only if its last attempt had no verdict or may be retried.',
      check: (trace, input) => {
        for (const { n, sent } of perItem(trace, input))
          for (const { verdict } of sent.slice(0, -1)) {
            const isDoubtful = verdict === undefined || (verdict._tag === 'Left' && isRetryable(verdict.left))
            holds(isDoubtful, `item ${String(n)} was sent again after ${inspect(verdict, { depth: 4 })}`)
          }
      },
      situations: ['a retry'],
    },
    'sends-nothing-after-the-end': {
      statement: 'An item is not sent after its end.',
      check: (trace, input) => {
        for (const { n, sent, ended } of perItem(trace, input)) {
          const endedAt = Math.min(...ended.map(({ order }) => order))
          holds(!sent.some(({ order }) => order > endedAt), `item ${String(n)} was sent after its end`)
        }
      },
      situations: ['a retry'],
    },
    completes: {
      statement: 'It completes after its source: then nothing runs, and no timer is left.',
      check: (trace) => {
        same(trace.end, 'completes')
        isRest(trace)
      },
    },
    repeats: {
      statement: 'The same world gives the same deliveries and ends at the same times.',
      check: async (trace, input, run) => {
        const again = await play(pipeline, input, { ...run, log: () => undefined })
        same(outlineOf(again), outlineOf(trace))
      },
      situations: ['a retry'],
    },
  })

  const unsubscribed = lawsOver('pipeline', inputs(item(MARK), true), playOne, {
    unsubscribes: {
      statement:
        'After an unsubscribe nothing is sent, nothing runs, nothing is emitted and no timer is left.',
      check: (trace) => {
        const late = [...trace.sent, ...trace.ended].filter(({ order }) => order >= trace.stopped)
        holds(late.length === 0, `${String(late.length)} deliveries or ends after the unsubscribe`)
        isRest(trace)
      },
      situations: ['unsubscribed while a delivery runs'],
    },
  })

  const ordered = lawsOver('pipeline', given, playOne, {
    'keeps-order': {
      statement: 'Of the items with one key each is sent after the end of the one before it.',
      check: (trace, input) => {
        const last = new Map<string, number>()
        for (const { n, sent, ended } of perItem(trace, input)) {
          const key = keyOf?.(marked(input.items[n]?.item, n))
          if (key === undefined) continue
          for (const { order } of sent)
            holds(
              order > (last.get(key) ?? -1),
              `item ${String(n)} was sent before the end of another of its key`,
            )
          last.set(key, Math.max(last.get(key) ?? -1, ...ended.map(({ order }) => order)))
        }
      },
      situations: ['a retry'],
    },
  })
  return [...laws, ...unsubscribed, ...(keyOf === undefined ? [] : ordered)]
}
