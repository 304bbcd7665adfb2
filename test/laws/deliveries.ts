/** Deliveries to scripted sinks behind a layer, on a virtual clock. The laws of layers read what happened. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { allFailed, onlyAttempt, partlyFailed, refused, retryable, type Attempt } from '../../src/index.ts'
import type { Cancel } from '../../src/core/clock.ts'
import type { Sink, Verdict } from '../../src/index.ts'
import { subscribeTo } from '../../src/sink/layer.ts'
import { type SinkCall, type Reply, scriptedSink } from '../../src/testing/scriptedSink.ts'
import { type VirtualClock, virtualClock } from '../../src/testing/virtualClock.ts'

export type Item = Readonly<{ id: number; key: number }>

/** A verdict. Wishes are `Retry-After`s, in milliseconds from the moment of the verdict. */
export type Said =
  | { readonly kind: 'taken' | 'refused' | 'network' | 'full' }
  | { readonly kind: 'wish' | 'alone in a first success'; readonly wish: number }
  | { readonly kind: 'batch'; readonly wishes: ReadonlyArray<number | null> }

export interface Step {
  readonly gap: number
  readonly key: number
  readonly said: Said
  /** From the start to the verdict, and from there to the end. Null: at once. */
  readonly after: number | 'never' | null
  readonly rest: number | null
  readonly defect: 'none' | 'after the verdict' | 'only'
  readonly within: number | null
  readonly cancelAt: number | null
  /** Its observer delivers another one at this moment. */
  readonly again: 'next' | 'complete' | null
}

const wish: fc.Arbitrary<number> = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: -5, max: 60 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 20 }).map((ms) => ms - 0.5) },
  { weight: 2, arbitrary: fc.constantFrom(NaN, Infinity, -Infinity, 1_000_000) },
)

const said: fc.Arbitrary<Said> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('taken', 'refused', 'network') }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('wish'), wish }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('alone in a first success'), wish }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('batch'),
      wishes: fc.array(fc.option(wish), { minLength: 1, maxLength: 4 }),
    }),
  },
)

export const stepsOf = (
  moment: fc.Arbitrary<number>,
  more: { readonly [K in keyof Step]?: fc.Arbitrary<Step[K]> } = {},
  maxLength = 20,
): fc.Arbitrary<ReadonlyArray<Step>> =>
  fc.array(
    fc.record<Step>({
      gap: fc.oneof(fc.constant(0), moment),
      key: fc.nat(2),
      said,
      after: fc.option(moment),
      rest: fc.option(moment),
      defect: fc.constantFrom<Step['defect']>('none', 'none', 'none', 'after the verdict', 'only'),
      within: fc.constant(null),
      cancelAt: fc.option(moment, { freq: 3 }),
      again: fc.constant(null),
      ...more,
    }),
    { minLength: 1, maxLength, size: 'max' },
  )

const verdictOf = (what: Said, now: number): Verdict => {
  const asks = (ms: number) => retryable('status', { status: 429, notBefore: now + ms })
  const taken: Verdict = right({ sink: 'inner' })
  switch (what.kind) {
    case 'taken':
      return taken
    case 'refused':
      return left(refused('status', { status: 400 }))
    case 'network':
      return left(retryable('network'))
    case 'full':
      return left(retryable('queueFull'))
    case 'wish':
      return left(asks(what.wish))
    case 'alone in a first success':
      return left(allFailed([{ sink: 'inner', failure: asks(what.wish) }]))
    case 'batch':
      return left(partlyFailed(what.wishes.map((each) => (each === null ? taken : left(asks(each))))))
  }
}

/** `order` is the place among all that happened: several things happen at one time. */
type Moment = Readonly<{ at: number; order: number }>

export interface Heard extends Moment {
  readonly what: 'next' | 'complete' | 'error'
  readonly verdict: Verdict | undefined
}

export interface Ran {
  readonly step: Step
  readonly item: Item
  readonly attempt: Attempt
  readonly arrived: Moment
  readonly returned: number
  readonly heard: ReadonlyArray<Heard>
  readonly cancelled: Moment | undefined
  readonly ranAfterCancel: boolean
  /** When it started inside, and what ran there at that time. */
  readonly started: (Moment & { readonly beside: ReadonlyArray<Item> }) | undefined
  readonly replied: Verdict | undefined
  readonly ended: { readonly at: number; readonly how: SinkCall<Item>['ended'] } | undefined
}

export type Wrap = (sink: Sink<Item>) => Sink<Item>
type Writable<T> = { -readonly [K in keyof T]: T[K] }
export const isOver = ({ heard }: Ran): boolean => heard.some(({ what }) => what !== 'next')

const START = 1_000_000

const counting = (clock: VirtualClock) => {
  const set = new Set<object>()
  let most = 0
  const schedule = (delay: number, task: () => void): Cancel => {
    const timer = {}
    set.add(timer)
    most = Math.max(most, set.size)
    const cancel = clock.schedule(delay, () => {
      set.delete(timer)
      task()
    })
    return () => {
      set.delete(timer)
      cancel()
    }
  }
  return { clock: { ...clock, schedule }, most: () => most }
}

/** Plays steps on `receivers` sinks behind one layer; the key of a step says which. */
export const deliverAll = async (wrap: Wrap, steps: ReadonlyArray<Step>, receivers = 1) => {
  const clock = virtualClock({ start: START })
  const timers = counting(clock)
  const ran: Array<Writable<Ran> & { heard: Heard[] }> = []
  const cancels: Array<{ readonly at: number; readonly act: () => void }> = []
  const looks: number[] = []
  let order = 0
  const here = (): Moment => ({ at: clock.now(), order: order++ })

  const reply = ({ id }: Item): Reply => {
    const one = ran[id]
    if (one === undefined) throw new Error('unknown item')
    const { said, after, rest, defect } = one.step
    const beside = calls().flatMap((call) => (call.ended === undefined ? [call.item] : []))
    one.started = { ...here(), beside }
    if (after === 'never') return {}
    if (defect !== 'only') one.replied = verdictOf(said, clock.now() + (after ?? 0))
    return {
      ...(one.replied === undefined ? {} : { verdict: one.replied }),
      ...(after === null ? {} : { after }),
      ...(rest === null ? {} : { rest }),
      ...(defect === 'none' ? {} : { defect: new Error('planted') }),
    }
  }
  const inners = Array.from({ length: receivers }, () => scriptedSink<Item>({ name: 'inner', clock, reply }))
  const calls = (): ReadonlyArray<SinkCall<Item>> => inners.flatMap((inner) => inner.calls)
  const subscribes = inners.map((inner) => subscribeTo(wrap(inner)))

  const begin = (step: Step): void => {
    const item = { id: ran.length, key: step.key }
    const attempt = { ...onlyAttempt, until: clock.now() + (step.within ?? Infinity), clock: timers.clock }
    const one: (typeof ran)[number] = {
      ...{ step, item, attempt, arrived: here(), returned: Infinity, heard: [], ranAfterCancel: false },
      ...{ cancelled: undefined, started: undefined, replied: undefined, ended: undefined },
    }
    ran.push(one)
    const hear = (what: Heard['what'], verdict?: Verdict): void => {
      one.heard.push({ ...here(), what, verdict })
      if (step.again === what) begin({ ...step, again: null, cancelAt: null })
    }
    const cancel = subscribes[step.key % receivers]?.(item, attempt, {
      next: (verdict) => hear('next', verdict),
      complete: () => hear('complete'),
      error: () => hear('error'),
    })
    one.returned = order++
    if (step.cancelAt === null) return
    const act = (): void => {
      if (!isOver(one)) one.cancelled = here()
      cancel?.()
      one.ranAfterCancel = calls().some((call) => call.item === item && call.ended === undefined)
    }
    cancels.push({ at: clock.monotonic() + step.cancelAt, act })
  }

  const perform = async (act: () => void): Promise<void> => {
    act()
    clock.tick(0)
    // A place that a cancel freed is taken in a microtask.
    await Promise.resolve()
    looks.push(order++)
  }
  let at = 0
  const starts = steps.map((step) => ({ at: (at += step.gap), act: () => begin(step) }))
  const due = (all: typeof cancels) => all.filter((each) => each.at === clock.monotonic())
  const next = (): number => {
    const soon = clock.monotonic() + 1
    const acts = [...starts, ...cancels].map((each) => each.at).filter((each) => each >= soon)
    return Math.min(...acts, ...clock.timers().map((timer) => Math.max(timer.due, soon)))
  }
  for (let now = 0; now < Infinity; now = next()) {
    await perform(() => clock.tick(now - clock.monotonic()))
    for (const { act } of due(starts)) await perform(act)
    for (const { act } of due(cancels)) await perform(act)
  }
  await perform(() => clock.tick(1_000))
  for (const { item, ended, endedAt } of calls()) {
    const one = ran[item.id]
    if (one !== undefined && endedAt !== undefined) one.ended = { at: START + endedAt, how: ended }
  }
  return { ran, looks, mostTimers: timers.most(), timersLeft: clock.pending() }
}
export type Trace = Awaited<ReturnType<typeof deliverAll>>
