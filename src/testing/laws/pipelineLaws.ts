import * as fc from 'fast-check'
import { EMPTY, concatMap, concatWith, defer, from, isObservable, map, tap, throwError } from 'rxjs'
import type { Observable } from 'rxjs'
import { inspect, isDeepStrictEqual } from 'node:util'
import { isRight } from '../../core/either.ts'
import { isFinal, type Verdict } from '../../core/failure.ts'
import { isRecord, kindOf } from '../../core/json.ts'
import { checkOptions, flag, func, optional, strict, withDefault } from '../../core/options.ts'
import { isOutcome, type Outcome, type Skipped } from '../../core/outcome.ts'
import { isRefusal, type Refusal, type Threw } from '../../core/refusal.ts'
import { verdictsIn } from '../../sink/bisect.ts'
import type { Sink } from '../../sink/sink.ts'
import { withTimeout } from '../../sink/timeout.ts'
import { healthy, type Misbehaviour } from '../faults.ts'
import { scriptedSink, type ScriptedSink } from '../scriptedSink.ts'
import { makeWorld, type World } from '../simulate.ts'
import { holds, same, lawsOver, type Drawn, type Law, type Run } from './law.ts'
import { PARTLY, anyMembers, anyScript, partly } from './sinkWorld.ts'

/** Where a pipeline runs. */
export interface PipelineWorld<in out P> extends World {
  /**
   * Several sinks, for a pipeline that combines them. `takes`: whether an item is delivered if one of them
   * took it, as with `failover`, or if all did, as with `toAll`. Default: one. It may be called again.
   */
  readonly sinks: (count: number, takes?: 'one' | 'all') => ReadonlyArray<Sink<P>>
}

/** The pipeline under test: from a source to a sink. Take time and chance from the world. */
export type Pipeline<in out P> = (
  source$: Observable<unknown>,
  sink: Sink<P>,
  world: PipelineWorld<P>,
) => Observable<Refusal | Threw | Skipped<unknown> | Outcome<unknown>>

/** The input and the promises of a pipeline. */
export interface PipelineLawOptions {
  /**
   * Items that it takes, and some that it refuses. Each must carry the text `mark`, such as an id, through
   * the whole pipeline. Default: calls, of which some are invalid; `mark` is their message id.
   */
  readonly item?: (mark: string) => fc.Arbitrary<unknown>
  /** Promises order: of items with one key, each starts after the end of the one before. Default: none. */
  readonly keyOf?: (item: unknown) => string | undefined
  /** False for one that tries each item once: no law needs a retry. Default true. */
  readonly retries?: boolean
  /** False for one that hides an error of its source: no source fails then. Default true: it passes it on. */
  readonly sourceFails?: boolean
}

const markedCall = (messageId: string): fc.Arbitrary<unknown> =>
  fc.record({
    type: fc.constantFrom('track', 'track', 'track', 'identify', 'order'),
    event: fc.constantFrom('Seen', 'Seen', 'x'.repeat(400)),
    userId: fc.constantFrom('a', 'a', 'b', ''),
    messageId: fc.constant(messageId),
  })

/** Stands for the mark until the place of an item is known. */
const MARK = 'law-item-x'
/** A copy with the mark of its place in its texts. A value that is no plain data, such as a Date, stays. */
const marked = (item: unknown, n: number): unknown => {
  if (typeof item === 'string') return item.replaceAll(MARK, `law-item-${String(n)}-`)
  if (Array.isArray(item)) return item.map((each) => marked(each, n))
  if (!isRecord(item) || Object.prototype.toString.call(item) !== '[object Object]') return item
  return Object.fromEntries(Object.entries(item).map((entry) => entry.map((each) => marked(each, n))))
}

const itemsIn = (value: unknown): ReadonlyArray<number> => {
  const text = inspect(value, { depth: 12, maxArrayLength: Infinity, maxStringLength: Infinity })
  return [...new Set([...text.matchAll(/law-item-(\d+)-/g)].map(([, n]) => Number(n)))]
}

/** The items in each member of a list or a batch. None if its members are not one item each. */
const membersIn = (value: unknown): ReadonlyArray<ReadonlyArray<number>> => {
  const list = isRecord(value) ? value['members'] : value
  const members = Array.isArray(list) ? list.map(itemsIn) : []
  return new Set(members.flat()).size === members.length ? members : []
}

const inputOf = (item: fc.Arbitrary<unknown>, sourceFails: boolean) => {
  const timed = fc.record({ gap: fc.constantFrom(0, 0, 1, 40, 3_000), item })
  return fc.record({
    seed: fc.nat(),
    items: fc.array(timed, { minLength: 1, maxLength: 12, size: 'max' }),
    fails: fc.constantFrom(false, false, ...(sourceFails ? [true] : [])),
    /** The sink's faults, delivery by delivery, over and over. It throws in delivery number `throwsIn`. */
    script: anyScript,
    throwsIn: fc.nat(9),
    unsubscribeAt: fc.constantFrom(null, null, null, 0, 1, 45, 2_000, 9_000),
    members: anyMembers,
  })
}
type PipelineRun = Drawn<ReturnType<typeof inputOf>>

/** `value`: the end of an item, or the error of the pipeline. */
interface Happened {
  readonly what: 'sent' | 'verdict' | 'ended' | 'completes' | 'fails' | 'unsubscribed'
  readonly items: ReadonlyArray<number>
  /** Of a sending and a verdict: the name of the sink. */
  readonly sink?: string
  readonly verdict?: Verdict
  readonly value?: unknown
}

/** Longer than the default retry policy goes on. */
const LONG = 6 * 3_600_000
const NO_CLOCK = 'does the pipeline take the clock of its world, as in deliver(sink, { clock, random })?'
/** Milliseconds from the end of all work until no timer may be left: idle sinks of `route` close before. */
const SOON = 300_000

type SinkGroup = Readonly<{ sinks: ReadonlyArray<string>; takes: 'one' | 'all' }>

/** Whether a group took all these items, or refused some for good, by the last verdicts of its sinks. */
const judged = ({ sinks, takes }: SinkGroup, items: ReadonlyArray<number>, of: ReadonlyArray<Happened>) => {
  const last = sinks.map((name) => {
    const own = of.filter(({ sink, verdict }) => sink === name && verdict)
    return items.map((n) => own.findLast((each) => each.items.includes(n))?.verdict)
  })
  const taken = last.map((all) => all.every((one) => one && isRight(one)))
  const refused = last.map((all, at) => !taken[at] && all.every((one) => one && isFinal(one)))
  return takes === 'one'
    ? { isTaken: taken.some(Boolean), isRefused: refused.every(Boolean) }
    : { isTaken: taken.every(Boolean), isRefused: refused.some(Boolean) }
}

const sourceOf = ({ items, fails }: PipelineRun, { clock }: World): Observable<unknown> =>
  from(items.entries()).pipe(
    concatMap(async ([n, { gap, item }]) => {
      if (gap > 0) await clock.sleep(gap, 'the source')
      return marked(item, n)
    }),
    concatWith(fails ? throwError(() => new Error('the source fails')) : EMPTY),
  )

const playPipeline = async <P>(pipeline: Pipeline<P>, input: PipelineRun, { reach, log }: Run) => {
  const world = makeWorld(input.seed, {}, log)
  const { clock } = world
  const happened: Happened[] = []
  const note = (one: Happened): void => {
    happened.push(one)
    world.log(inspect(one, { breakLength: Infinity }))
  }
  const { script, throwsIn } = input
  const inners: Array<ScriptedSink<P>> = []
  const groups: SinkGroup[] = []
  let started = 0
  const makeOne = (): Sink<P> => {
    const at = inners.length
    const name = at === 0 ? 'laws' : `laws ${String(at + 1)}`
    const fault = (_: P, n: number): Misbehaviour => script[(n + 3 * at) % script.length] ?? healthy
    const inner = scriptedSink<P>({ name, clock, script: fault })
    inners.push(inner)
    const { deliver } = withTimeout({ timeout: 5_000 })(inner)
    return {
      name,
      close: inner.close,
      deliver: (item, attempt) =>
        defer(() => {
          const n = started++
          const members = membersIn(item)
          const known = verdictsIn(attempt.lastFailure, members.length) ?? members.map(() => undefined)
          const settled = known.map((one) => (one && isFinal(one) ? one : undefined))
          const open = members.filter((_, at) => settled[at] === undefined)
          const items = members.length > 0 ? open.flat() : itemsIn(item)
          note({ what: 'sent', items, sink: name })
          if (members.length === 0) reach(PARTLY)
          if (attempt.number > 1) reach('a retry')
          if (n === throwsIn) {
            reach('the sink throws')
            throw new Error('the sink throws')
          }
          const noted = tap((verdict: Verdict) => {
            const parts = verdict._tag === 'Left' ? verdictsIn(verdict.left, members.length) : undefined
            if (parts === undefined) note({ what: 'verdict', items, sink: name, verdict })
            for (const [at, own] of parts?.entries() ?? [])
              note({ what: 'verdict', items: members[at] ?? [], sink: name, verdict: own })
          })
          return deliver(item, attempt).pipe(map(partly(settled, input.members, n, reach)), noted)
        }),
    }
  }
  const sinks = (count: number, takes: SinkGroup['takes'] = 'one'): ReadonlyArray<Sink<P>> => {
    const made = Array.from({ length: count }, makeOne)
    groups.push({ sinks: made.map(({ name }) => name), takes })
    return made
  }
  const [sink = makeOne()] = sinks(1)
  const running = (): number => inners.reduce((sum, inner) => sum + inner.running(), 0)
  let finish = (): void => undefined
  const finished = new Promise<void>((resolve) => (finish = resolve))
  const end = (what: Happened['what'], more: Pick<Happened, 'value'> = {}): void => {
    note({ what, items: [], ...more })
    finish()
  }
  const ended$: unknown = pipeline(sourceOf(input, world), sink, { ...world, sinks })
  if (!isObservable(ended$)) throw new TypeError(`pipeline: give an Observable back, got ${kindOf(ended$)}`)
  const subscription = ended$.subscribe({
    next: (value) => {
      note({ what: 'ended', items: itemsIn(value), value })
      if (isRefusal(value)) reach('a refusal')
      else if (isOutcome(value)) reach(value._tag)
    },
    error: (error: unknown) => end('fails', { value: String(error) }),
    complete: () => end('completes'),
  })
  try {
    if (input.unsubscribeAt !== null) {
      await clock.advance(input.unsubscribeAt)
      if (running() > 0) reach('unsubscribed while a delivery runs')
      subscription.unsubscribe()
      end('unsubscribed')
    }
    // Items in order may be retried one after another.
    await clock.run(finished, { timeout: LONG * (1 + input.items.length) }).catch(() => undefined)
    const open = input.items.length - itemsWhen(happened, 'ended').length
    const isStuck = !subscription.closed && clock.pending() === 0 && open > 0
    holds(!isStuck, `${String(open)} items have no end, and no timer waits: ${NO_CLOCK}`)
    await clock.advance(SOON)
    const left = { running: running(), timers: clock.timers().map(({ name }) => name) }
    await clock.advance(LONG)
    return { happened, groups, left }
  } finally {
    subscription.unsubscribe()
  }
}

const itemsWhen = (happened: ReadonlyArray<Happened>, what: Happened['what']): ReadonlyArray<number> =>
  happened.filter((each) => each.what === what).flatMap(({ items }) => items)

/** Each item whenever it is sent, and the events before. */
const sendings = (happened: ReadonlyArray<Happened>) =>
  happened.flatMap(({ what, items, sink }, n) =>
    what === 'sent' ? items.map((item) => ({ item, sink, before: happened.slice(0, n) })) : [],
  )

const pipelineOptions = strict({
  item: optional(func()),
  keyOf: optional(func()),
  retries: withDefault(flag, true),
  sourceFails: withDefault(flag, true),
})

/**
 * The laws of a pipeline of yours, from its source to its sink. The sink that they give is in memory: it
 * answers, refuses, fails, hangs for 5 s and throws, as a script says. Give it to `deliver` in place of the
 * real one. For a pipeline that combines several sinks, take them from `sinks` of the world:
 * `failover(sinks(2))`.
 *
 * @example
 * import { deliver, encode, validate } from 'headrace'
 * import { Event, toWebhookBody } from 'headrace/events'
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
  options: PipelineLawOptions = {},
): ReadonlyArray<Law> => {
  const { retries, sourceFails } = checkOptions('options of pipelineLaws', pipelineOptions, options)
  const { item = markedCall, keyOf } = options
  const aRetry = retries ? ['a retry'] : []
  const inputs = inputOf(item(MARK), sourceFails)
  const laws = lawsOver('pipeline', inputs, (input, run) => playPipeline(pipeline, input, run), {
    'ends-once': {
      statement: 'Each item of the source ends exactly once, also if the sink fails, hangs or throws.',
      check: ({ happened }, { items, unsubscribeAt }) => {
        const ended = itemsWhen(happened, 'ended').toSorted((a, b) => a - b)
        const isOnce = isDeepStrictEqual(ended, [...(unsubscribeAt === null ? items.keys() : new Set(ended))])
        holds(isOnce, `of ${String(items.length)} items these ended: ${ended.join(', ') || 'none'}`)
      },
      situations: ['a refusal', ...aRetry, 'the sink throws', 'Delivered', 'Rejected'],
    },
    'tells-the-truth': {
      statement:
        'An item is delivered if its sinks took it, and rejected if they refused it for good; not otherwise.',
      check: ({ happened, groups }) => {
        for (const { items, value } of happened) {
          if (!isOutcome(value)) continue
          const of = happened.filter((each) => each.items.some((n) => items.includes(n)))
          const asked = groups.filter(({ sinks }) => of.some(({ sink = '' }) => sinks.includes(sink)))
          const verdicts = asked.map((group) => judged(group, items, of))
          const isTaken = verdicts.some((each) => each.isTaken)
          const mayBeLost = verdicts.length === 0 || verdicts.some((each) => !each.isTaken)
          holds(value._tag === 'Delivered' ? isTaken : mayBeLost, `${value._tag}, taken: ${String(isTaken)}`)
          const isRefused = verdicts.length === 0 || verdicts.some((each) => each.isRefused)
          holds(value._tag !== 'Rejected' || isRefused, 'rejected, though it was not refused for good')
        }
      },
      situations: ['Delivered', 'Rejected', PARTLY],
    },
    'sends-again-in-doubt-only': {
      statement:
        'An item is sent to a sink again only after no verdict or a retryable one, ' +
        'and before its end if no other sink took it.',
      check: ({ happened }) => {
        for (const { item, sink, before } of sendings(happened)) {
          const of = before.filter(({ items }) => items.includes(item))
          const last = of.findLast((each) => each.sink === sink)
          // `firstSuccess` still sends an item to a busy sink after another one took it.
          const isTaken = of.some((each) => each.sink !== sink && each.verdict && isRight(each.verdict))
          const isEnded = !isTaken && of.some(({ what }) => what === 'ended')
          const isOver = isEnded || (last?.verdict && isFinal(last.verdict))
          holds(last === undefined || !isOver, `item ${String(item)} was sent again`)
        }
      },
      situations: aRetry,
    },
    completes: {
      statement:
        'It ends as its source does. Then, or unsubscribed, nothing runs; 5 min later no timer is left.',
      check: ({ happened, left: { running, timers } }, { unsubscribeAt, fails }) => {
        const end = unsubscribeAt !== null ? 'unsubscribed' : fails ? 'fails' : 'completes'
        // Running deliveries may have their verdict.
        const late = happened.slice(happened.findIndex(({ what }) => what === end)).map(({ what }) => what)
        const told = late.filter((what) => what !== 'verdict')
        const rest = `${String(running)} deliveries that run, these timers: ${timers.join(', ') || 'none'}`
        const isOver = told.join() === end && running === 0 && timers.length === 0
        holds(isOver, `its end is "${end}"; found: ${told.join(', ')}; 5 min later it has ${rest}`)
      },
      situations: ['unsubscribed while a delivery runs'],
    },
    'keeps-order': {
      statement: 'Of the items with one key each is sent after the end of the one before it.',
      check: ({ happened }, input, { reach }) => {
        const keys = input.items.map((each, n) => keyOf?.(marked(each.item, n)))
        if (keys.some((key, n) => key !== undefined && keys.indexOf(key) < n)) reach('two items with one key')
        for (const { item, before } of sendings(happened)) {
          const earlier = keys.slice(0, item).map((key, n) => key !== undefined && key === keys[item] && n)
          const open = earlier.filter((n) => n !== false && !itemsWhen(before, 'ended').includes(n))
          same({ item, open }, { item, open: [] })
        }
      },
      situations: [...aRetry, 'two items with one key'],
    },
  })
  return laws.filter(({ id }) => keyOf !== undefined || id !== 'pipeline/keeps-order')
}
