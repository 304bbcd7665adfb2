import * as fc from 'fast-check'
import { isRight } from 'fp-ts/lib/Either.js'
import { concatMap, defer, from, tap, type Observable } from 'rxjs'
import { inspect } from 'node:util'
import { isFinal, type Verdict } from '../../core/failure.ts'
import { isOutcome, type Outcome, type Skipped } from '../../core/outcome.ts'
import { isRefusal, type Refusal, type Threw } from '../../core/refusal.ts'
import type { Sink } from '../../sink/sink.ts'
import { withTimeout } from '../../sink/timeout.ts'
import { healthy } from '../faults.ts'
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
  fc.record({
    type: fc.constantFrom('track', 'track', 'track', 'identify', 'order'),
    event: fc.constantFrom('Seen', 'Seen', 'x'.repeat(400)),
    userId: fc.constantFrom('a', 'a', 'b', ''),
    messageId: fc.constant(messageId),
  })

/** Stands for the mark until the place of an item is known. */
const MARK = 'law-item-x'
const marked = (item: unknown, n: number): unknown =>
  JSON.parse(JSON.stringify(item).replaceAll(MARK, `law-item-${String(n)}-`))

/** Which items a value carries, wherever. */
const itemsIn = (value: unknown): ReadonlyArray<number> => {
  const text = inspect(value, { depth: 12, maxArrayLength: Infinity, maxStringLength: Infinity })
  return [...new Set([...text.matchAll(/law-item-(\d+)-/g)].map(([, n]) => Number(n)))]
}

const inputOf = (item: fc.Arbitrary<unknown>) => {
  const timed = fc.record({ gap: fc.constantFrom(0, 0, 1, 40, 3_000), item })
  return fc.record({
    seed: fc.nat(),
    items: fc.array(timed, { minLength: 1, maxLength: 8, size: 'max' }),
    /** What the sink does, delivery by delivery, over and over. It throws in the delivery number `throwsIn`. */
    script: anyScript,
    throwsIn: fc.nat(9),
    unsubscribeAt: fc.constantFrom(null, null, null, 0, 1, 45, 2_000, 9_000),
  })
}
type Input = ReturnType<typeof inputOf> extends fc.Arbitrary<infer I> ? I : never

/** `value`: the end of an item, or the error of the pipeline. */
interface Happened {
  readonly what: 'sent' | 'verdict' | 'ended' | 'completes' | 'fails' | 'unsubscribed'
  readonly items: ReadonlyArray<number>
  readonly verdict?: Verdict
  readonly value?: unknown
}

/** Longer than the default retry policy goes on. */
const LONG = 6 * 3_600_000
/** Milliseconds of one delivery. */
const TIMEOUT = 5_000

const sourceOf = (items: Input['items'], { clock }: World): Observable<unknown> =>
  from(items.entries()).pipe(
    concatMap(async ([n, { gap, item }]) => {
      if (gap > 0) await clock.sleep(gap, 'the source')
      return marked(item, n)
    }),
  )

const play = async <P>(pipeline: Pipeline<P>, input: Input, { reach, log }: Run) => {
  const world = makeWorld(input.seed, {}, log)
  const { clock } = world
  const happened: Happened[] = []
  const note = (one: Happened): void => {
    happened.push(one)
    world.log(inspect(one, { breakLength: Infinity }))
  }
  const { script, throwsIn } = input
  const inner = scriptedSink<P>({ clock, script: (_, n) => script[n % script.length] ?? healthy })
  const { deliver } = withTimeout(TIMEOUT, { clock })(inner)
  let started = 0
  const sink: Sink<P> = {
    name: 'laws',
    close: inner.close,
    deliver: (item, attempt) =>
      defer(() => {
        const items = itemsIn(item)
        note({ what: 'sent', items })
        if (attempt.number > 1) reach('a retry')
        if (started++ === throwsIn) {
          reach('the sink throws')
          throw new Error('the sink throws')
        }
        return deliver(item, attempt).pipe(tap((verdict) => note({ what: 'verdict', items, verdict })))
      }),
  }
  const subscription = pipeline(sourceOf(input.items, world), sink, world).subscribe({
    next: (value) => {
      note({ what: 'ended', items: itemsIn(value), value })
      if (isRefusal(value)) reach('a refusal')
      else if (isOutcome(value)) reach(value._tag)
    },
    error: (error: unknown) => note({ what: 'fails', items: [], value: error }),
    complete: () => note({ what: 'completes', items: [] }),
  })
  if (input.unsubscribeAt !== null) {
    await clock.advance(input.unsubscribeAt)
    if (inner.running() > 0) reach('unsubscribed while a delivery runs')
    subscription.unsubscribe()
    note({ what: 'unsubscribed', items: [] })
  }
  // Items in order may be retried one after another.
  await clock.advance(LONG * (1 + input.items.length))
  const left = { running: inner.running(), timers: clock.timers().map(({ name }) => name) }
  return { happened, left }
}

const itemsOf = (happened: ReadonlyArray<Happened>, what: Happened['what']): ReadonlyArray<number> =>
  happened.filter((each) => each.what === what).flatMap(({ items }) => items)

/** Each item whenever it is sent, and what had happened before. */
const sendings = (happened: ReadonlyArray<Happened>) =>
  happened.flatMap(({ what, items }, n) =>
    what === 'sent' ? items.map((item) => ({ item, before: happened.slice(0, n) })) : [],
  )

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
  const laws = lawsOver('pipeline', inputOf(item(MARK)), (input, run) => play(pipeline, input, run), {
    'ends-once': {
      statement: 'Each item of the source ends exactly once, also if the sink fails, hangs or throws.',
      check: ({ happened }, { items, unsubscribeAt }) => {
        const ended = itemsOf(happened, 'ended').toSorted((a, b) => a - b)
        same(ended, unsubscribeAt === null ? [...items.keys()] : [...new Set(ended)])
      },
      situations: ['a refusal', 'a retry', 'the sink throws', 'Delivered', 'Rejected'],
    },
    'tells-the-truth': {
      statement:
        'An item is delivered if the sink took it, and rejected if the sink refused it for good; not otherwise.',
      check: ({ happened }) => {
        for (const { items, value } of happened) {
          if (!isOutcome(value)) continue
          const of = happened.filter((each) => each.items.some((n) => items.includes(n)))
          const verdicts = of.flatMap(({ verdict }) => verdict ?? [])
          same([value._tag, value._tag === 'Delivered'], [value._tag, verdicts.some(isRight)])
          holds(value._tag !== 'Rejected' || verdicts.some(isFinal), 'rejected without a refusal')
        }
      },
      situations: ['Delivered', 'Rejected'],
    },
    'sends-again-in-doubt-only': {
      statement:
        'An item is sent again only before its end, and if its last attempt had no verdict or may be retried.',
      check: ({ happened }) => {
        for (const { item, before } of sendings(happened)) {
          const last = before.findLast(({ items }) => items.includes(item))
          const isOver = last?.what === 'ended' || (last?.verdict !== undefined && isFinal(last.verdict))
          holds(!isOver, `item ${String(item)} was sent again`)
        }
      },
      situations: ['a retry'],
    },
    completes: {
      statement:
        'It completes after its source. After that, or an unsubscribe, nothing is sent, emitted or running, and no timer is left.',
      check: ({ happened, left }, { unsubscribeAt }) => {
        const end = unsubscribeAt === null ? 'completes' : 'unsubscribed'
        // What ran may have its verdict.
        const late = happened.slice(happened.findIndex(({ what }) => what === end)).map(({ what }) => what)
        const told = late.filter((what) => what !== 'verdict')
        same({ told, ...left }, { told: [end], running: 0, timers: [] })
      },
      situations: ['unsubscribed while a delivery runs'],
    },
    'keeps-order': {
      statement: 'Of the items with one key each is sent after the end of the one before it.',
      check: ({ happened }, input) => {
        const keys = input.items.map((each, n) => keyOf?.(marked(each.item, n)))
        for (const { item, before } of sendings(happened)) {
          const earlier = keys.slice(0, item).map((key, n) => key !== undefined && key === keys[item] && n)
          const open = earlier.filter((n) => n !== false && !itemsOf(before, 'ended').includes(n))
          same({ item, open }, { item, open: [] })
        }
      },
      situations: ['a retry'],
    },
  })
  return laws.filter(({ id }) => keyOf !== undefined || id !== 'pipeline/keeps-order')
}
