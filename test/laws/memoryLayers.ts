import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { onlyAttempt, refused, retryable, type Sink, type Verdict } from '../../src/index.ts'
import { subscribeTo } from '../../src/sink/layer.ts'
import { scriptedSink, virtualClock } from '../../src/testing/index.ts'
import type { Law } from '../support/check.ts'

export type Wrap = (sink: Sink<number>) => Sink<number>

export const START = 1_000_000
export const taken: Verdict = right({ sink: 'inner' })

export interface Step {
  /** Milliseconds before it. */
  readonly pause: number
  readonly item: number
  readonly kind: 'take' | 'refuse' | 'retry' | 'held'
  readonly after: number
  readonly isCancelled: boolean
}

export const steps = fc.array(
  fc.record<Step>({
    pause: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(30), fc.nat(400)),
    item: fc.nat(4),
    kind: fc.constantFrom('take', 'take', 'refuse', 'retry', 'retry', 'held'),
    after: fc.oneof(fc.constant(0), fc.nat(50)),
    isCancelled: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.boolean()),
  }),
  { maxLength: 60, size: 'max' },
)

const verdictOf = ({ kind }: Step): Verdict => {
  if (kind === 'take') return taken
  return left(kind === 'refuse' ? refused('status') : retryable(kind === 'held' ? 'queueFull' : 'network'))
}

/** Hears verdicts only. */
export const hearing = (next: (verdict: Verdict) => void) => {
  const ignore = (): void => undefined
  return { next, complete: ignore, error: ignore }
}

interface Heard {
  readonly step: Step
  readonly startedAt: number
  verdict: Verdict | undefined
  verdictAt: number | undefined
  isOver: boolean
}

export const play = (wrap: Wrap, script: ReadonlyArray<Step>) => {
  const clock = virtualClock({ start: START })
  let current = 0
  const inner = scriptedSink<number>({
    name: 'inner',
    clock,
    reply: () => {
      const step = script[current] as Step
      return { verdict: verdictOf(step), after: step.after }
    },
  })
  const sink = wrap(inner)
  const heard: Heard[] = []
  for (const [at, step] of script.entries()) {
    clock.tick(step.pause)
    current = at
    const one: Heard = {
      step,
      startedAt: clock.now(),
      verdict: undefined,
      verdictAt: undefined,
      isOver: false,
    }
    heard.push(one)
    const cancel = subscribeTo(sink)(
      step.item,
      { ...onlyAttempt, clock },
      {
        next: (verdict) => {
          one.verdict = verdict
          one.verdictAt = clock.now()
        },
        complete: () => {
          one.isOver = true
        },
        error: () => undefined,
      },
    )
    if (step.isCancelled) cancel()
  }
  clock.tick(1_000)
  const starts = inner.calls.map((call) => START + call.startedAt)
  return { heard, starts, calls: inner.calls, running: inner.running(), pending: clock.pending() }
}

export const notBeforeOf = (verdict: Verdict | undefined): number | undefined =>
  verdict?._tag === 'Left' && verdict.left._tag === 'Retryable' && verdict.left.reason === 'held'
    ? (verdict.left.notBefore ?? 0)
    : undefined

export const run = ({ property }: Law): Promise<void> => fc.assert(property)
