/** What a layer owes to the sink inside, as long as it has no reason to interfere. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { type Failure, refused, retryable } from '../../src/core/failure.ts'
import { runOf } from '../../src/sink/layer.ts'
import type { Attempt, Layer, Sink } from '../../src/sink/sink.ts'
import { type Reply, type ScriptedSink, scriptedSink } from '../../src/testing/scriptedSink.ts'
import { type VirtualClock, virtualClock } from '../../src/testing/virtualClock.ts'

export type MakeLayer = (clock: VirtualClock) => Layer

const failure: fc.Arbitrary<Failure> = fc.oneof(
  fc.constant(refused('status', { status: 410 })),
  fc.constant(retryable('network')),
  fc.nat(1_000).map((ms) => retryable('status', { status: 503, notBefore: ms })),
)

/** Any reply that ends by itself. */
export const anyReply: fc.Arbitrary<Reply> = fc
  .tuple(
    fc.oneof(
      fc.constant(right({ sink: 'scripted' })),
      failure.map((each) => left(each)),
    ),
    fc.option(fc.nat(50), { nil: undefined }),
    fc.option(fc.nat(50), { nil: undefined }),
    fc.constantFrom('complete', 'complete', 'defect after', 'defect only'),
  )
  .map(([verdict, after, rest, end]) => ({
    ...(end === 'defect only' ? {} : { verdict }),
    ...(after === undefined ? {} : { after }),
    ...(rest === undefined ? {} : { rest }),
    ...(end.startsWith('defect') ? { defect: new Error('planted') } : {}),
  }))

const attempt: fc.Arbitrary<Attempt> = fc.record({
  number: fc.integer({ min: 1, max: 40 }),
  until: fc.constantFrom(Infinity, Number.MAX_SAFE_INTEGER),
  lastFailure: fc.option(failure, { nil: undefined }),
})

interface Trial {
  readonly inner: ScriptedSink<number>
  readonly outer: Sink<number>
  readonly clock: VirtualClock
}

const heardFrom = (
  sink: Sink<number>,
  clock: VirtualClock,
  asked: Attempt,
  cancelAt: number | null,
): string[] => {
  const heard: string[] = []
  const say = (what: string, value: unknown): void => {
    heard.push(`${clock.monotonic()} ${what} ${JSON.stringify(value)}`)
  }
  const cancel = runOf(sink)(7, asked, {
    next: (verdict) => say('next', verdict),
    complete: () => say('complete', null),
    error: (defect) => say('error', String(defect)),
  })
  if (cancelAt !== null) {
    clock.tick(cancelAt)
    cancel()
  }
  clock.tick(1_000)
  return heard
}

export const layerLaws = (
  make: MakeLayer,
): ReadonlyArray<{ readonly id: string; readonly property: fc.IPropertyWithHooks<[unknown]> }> => {
  const trial = (reply: Reply): Trial => {
    const clock = virtualClock()
    const inner = scriptedSink<number>({ name: 'inner', clock, reply: () => reply })
    return { inner, outer: make(clock)(inner), clock }
  }
  const law = (
    id: string,
    holds: (trial: Trial, asked: Attempt, reply: Reply, cancelAt: number | null) => boolean,
  ) => ({
    id,
    property: fc.property(fc.tuple(anyReply, attempt, fc.option(fc.nat(100))), ([reply, asked, cancelAt]) =>
      holds(trial(reply), asked, reply, cancelAt),
    ),
  })

  return [
    law('the attempt reaches the sink inside: number, until and prior', ({ inner, outer, clock }, asked) => {
      heardFrom(outer, clock, asked, null)
      const seen = inner.calls[0]?.attempt
      return (
        inner.calls.length === 1 &&
        seen?.number === asked.number &&
        seen.until === asked.until &&
        seen.lastFailure === asked.lastFailure
      )
    }),
    law(
      'what the sink inside tells is told, unchanged and in time',
      ({ outer, clock }, asked, reply, cancelAt) => {
        const alone = virtualClock()
        const bare = scriptedSink<number>({ name: 'inner', clock: alone, reply: () => reply })
        return (
          JSON.stringify(heardFrom(outer, clock, asked, cancelAt)) ===
          JSON.stringify(heardFrom(bare, alone, asked, cancelAt))
        )
      },
    ),
    law('a cancel cancels inside, at its moment', ({ inner, outer, clock }, asked, _reply, cancelAt) => {
      heardFrom(outer, clock, asked, cancelAt)
      const [call] = inner.calls
      const inTime = cancelAt === null || (call?.endedAt ?? Infinity) <= cancelAt
      return inner.running() === 0 && inTime
    }),
    law('it has the name of the sink inside', ({ outer }) => outer.name === 'inner'),
    law('close reaches the sink inside with its time', ({ inner, outer }, asked) => {
      void outer.close(asked.number)()
      return inner.closed.length === 1 && inner.closed[0] === asked.number
    }),
    law('no timer is left behind', ({ outer, clock }, asked, _reply, cancelAt) => {
      heardFrom(outer, clock, asked, cancelAt)
      return clock.pending() === 0
    }),
  ]
}
