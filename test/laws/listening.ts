/** Listening to a sink, strictly: what it told, and what it told after it had been cancelled. */
import * as fc from 'fast-check'
import type { Verdict } from '../../src/core/failure.ts'
import { runOf } from '../../src/sink/layer.ts'
import { onlyAttempt, type Sink } from '../../src/sink/sink.ts'

/** A sink under test, and what can be seen of it from below. */
export interface Subject {
  readonly sink: Sink<number>
  /** How many deliveries have begun to do something. */
  readonly started: () => number
  /** How many of those are not over. */
  readonly running: () => number
  /** Lets some time pass. */
  readonly pass: (ms: number) => Promise<void>
  /** Lets everything come to its end. */
  readonly settle: () => Promise<void>
}

export type Told =
  { readonly kind: 'next'; readonly verdict: Verdict } | { readonly kind: 'complete' | 'error' }

export interface Listening {
  readonly told: ReadonlyArray<Told>
  /** What came after the cancel. */
  readonly late: ReadonlyArray<Told>
  readonly cancel: () => void
}

export type Border = 'run' | 'observable'

export const listen = (
  sink: Sink<number>,
  item: number,
  border: Border,
  on: (told: Told) => void = () => {},
): Listening => {
  const told: Told[] = []
  const late: Told[] = []
  let cancelled = false
  const hear = (each: Told): void => {
    ;(cancelled ? late : told).push(each)
    on(each)
  }
  const receiver = {
    next: (verdict: Verdict) => hear({ kind: 'next', verdict }),
    complete: () => hear({ kind: 'complete' }),
    error: () => hear({ kind: 'error' }),
  }
  const subscribe = (): (() => void) => {
    const subscription = sink.deliver(item, onlyAttempt).subscribe(receiver)
    return () => subscription.unsubscribe()
  }
  const stop = border === 'run' ? runOf(sink)(item, onlyAttempt, receiver) : subscribe()
  return {
    told,
    late,
    cancel: () => {
      cancelled = true
      stop()
    },
  }
}

export const kinds = (listening: Listening): string => listening.told.map((each) => each.kind).join(' ')

export const isVerdict = (told: Told | undefined): boolean =>
  told?.kind === 'next' &&
  (told.verdict._tag === 'Right'
    ? typeof told.verdict.right.sink === 'string'
    : typeof told.verdict.left._tag === 'string')

export const WHOLE = new Set(['next complete', 'next error', 'error'])
export const PARTS = new Set(['', 'next', ...WHOLE])

export interface Step {
  readonly gap: number
  readonly item: number
  readonly border: Border
  readonly cancelAfter: number | null
}

const step = (cancels: boolean): fc.Arbitrary<Step> =>
  fc.record({
    gap: fc.nat(20),
    item: fc.nat(5),
    border: fc.constantFrom<Border>('run', 'observable'),
    cancelAfter: cancels ? fc.option(fc.nat(60)) : fc.constant(null),
  })

export const plan = (cancels: boolean): fc.Arbitrary<ReadonlyArray<Step>> =>
  fc.array(step(cancels), { minLength: 1, maxLength: 8, size: 'max' })

export const play = async (
  subject: Subject,
  steps: ReadonlyArray<Step>,
): Promise<ReadonlyArray<Listening>> => {
  const heard: Listening[] = []
  let time = 0
  const todo = steps.flatMap((each) => {
    time += each.gap
    let listening: Listening | undefined
    const start = (): void => {
      listening = listen(subject.sink, each.item, each.border)
      heard.push(listening)
    }
    const cancel = (): void => listening?.cancel()
    const begin = { at: time, act: start }
    return each.cancelAfter === null ? [begin] : [begin, { at: time + each.cancelAfter, act: cancel }]
  })
  let now = 0
  // The sort is stable, so a cancel never comes before its start.
  for (const { at, act } of todo.sort((a, b) => a.at - b.at)) {
    if (at > now) await subject.pass(at - now)
    now = at
    act()
  }
  await subject.settle()
  return heard
}
