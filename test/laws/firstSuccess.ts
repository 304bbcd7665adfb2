/** First success (DE1; pipelines/F1 to F9). */
import * as fc from 'fast-check'
import { left } from 'fp-ts/lib/Either.js'
import { isRetryable } from '../../src/core/failure.ts'
import type { Sink } from '../../src/sink/sink.ts'
import {
  firstSuccessWorld,
  isAsked,
  ITEM,
  type MakeFirstSuccess,
  oracle,
  play,
  rememberedOf,
  type Trace,
  type World,
} from './firstSuccessWorld.ts'

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

interface FirstSuccessLaw {
  readonly id: string
  readonly holds: (trace: Trace, world: World) => boolean
}

const laws: ReadonlyArray<FirstSuccessLaw> = [
  {
    id: 'what is told, and when, is what the oracle says (F1, F4, DE1)',
    holds: ({ heard }, world) => same(heard, oracle(world)),
  },
  {
    id: 'at most one verdict, at most one end, and nothing after it (F1)',
    holds: ({ heard }) => ['', 'next', 'next complete'].includes(heard.map((each) => each.kind).join(' ')),
  },
  {
    id: 'a round asks every live sink once, at the same time, and no other (F9)',
    holds: ({ sinks }, world) =>
      sinks.every(({ calls }, at) =>
        isAsked(world, at) ? calls.length === 1 && calls[0]?.startedAt === 0 : calls.length === 0,
      ),
  },
  {
    id: 'a success aborts nobody: only a cancel cancels',
    holds: ({ sinks }, { cancelAt }) =>
      sinks.every(({ calls }) => calls.every((call) => cancelAt !== null || call.ended !== 'cancelled')),
  },
  {
    id: 'a cancel cancels all that runs, at its moment',
    holds: ({ sinks, pending }, { cancelAt }) =>
      pending === 0 &&
      sinks.every(
        (sink) =>
          sink.running() === 0 &&
          sink.calls.every((call) => cancelAt === null || (call.endedAt ?? Infinity) <= cancelAt),
      ),
  },
  {
    id: 'each sink gets the item, the number, the deadline, and its own past only (F5)',
    holds: ({ sinks, attempt }, world) =>
      sinks.every(({ calls }, at) =>
        calls.every(
          (call) =>
            call.item === ITEM &&
            call.attempt.number === attempt.number &&
            call.attempt.until === attempt.until &&
            same(call.attempt.lastFailure ?? null, rememberedOf(world, at)),
        ),
      ),
  },
  {
    id: 'the sinks of a round share one place for the bytes, one sink alone needs none (F3)',
    holds: ({ sinks }) => {
      const rounds = sinks.flatMap(({ calls }) => calls.map((call) => call.attempt.shared))
      if (rounds.length < 2) return rounds.every((round) => round === undefined)
      return new Set(rounds).size === 1 && rounds[0] !== undefined
    },
  },
  {
    id: 'a failure can be retried just if some part of it can',
    holds: ({ heard }, world) => {
      const verdict = heard[0]?.verdict
      if (verdict?._tag !== 'Left') return true
      const some = world.children.some((one, at) => {
        if (!isAsked(world, at)) return rememberedOf(world, at)?._tag === 'Retryable'
        return one.defect === 'only' || !one.final
      })
      return isRetryable(verdict.left) === some
    },
  },
]

export interface CheckableLaw {
  readonly id: string
  readonly property: fc.IPropertyWithHooks<[World]>
}

export const firstSuccessLaws = (make: MakeFirstSuccess): ReadonlyArray<CheckableLaw> => [
  ...laws.map(({ id, holds }) => ({
    id,
    property: fc.property(firstSuccessWorld, (world) => holds(play(make, world), world)),
  })),
  {
    id: 'sinks in another order: the same kind of verdict, and the same sinks are asked (F7)',
    property: fc.property(firstSuccessWorld, (world) => {
      const kindOf = (trace: Trace): unknown =>
        trace.heard.map((each) => [each.at, each.kind, each.verdict?._tag ?? null])
      const turned = { ...world, children: [...world.children].reverse() }
      return same(kindOf(play(make, world)), kindOf(play(make, turned)))
    }),
  },
  {
    id: 'one sink alone is a plain send, its failure an AllFailed of one (F6)',
    property: fc.property(firstSuccessWorld, (drawn) => {
      const world: World = { ...drawn, children: drawn.children.slice(0, 1), memory: 'none' }
      const alone = play(([only]) => only as Sink<number>, world).heard
      const wrapped = play(make, world).heard
      const unwrapped = wrapped.map((each) =>
        each.verdict?._tag === 'Left' && each.verdict.left._tag === 'AllFailed' && each.verdict.left.causes[0]
          ? { ...each, verdict: left(each.verdict.left.causes[0].failure) }
          : each,
      )
      return world.children[0]?.defect === 'none' ? same(unwrapped, alone) : unwrapped.length <= 2
    }),
  },
]
