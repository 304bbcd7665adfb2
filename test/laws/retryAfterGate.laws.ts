/** A `Retry-After` holds back everything that goes to a receiver, against an oracle in plain code. */
import * as fc from 'fast-check'
import { it } from 'vitest'
import { withRetryAfterGate, type Layer } from '../../src/index.ts'
import { lawTable, same } from '../support/check.ts'
import { deliverAll, type Ran, type Said, stepsOf, type Trace } from './deliveries.ts'

export type MakeGate = (most: number) => Layer
const world = fc.record({ most: fc.constantFrom(0, 10, 60, 3_600_000), steps: stepsOf(fc.nat(20)) })

const wishesOf = (said: Said): ReadonlyArray<number | null> =>
  said.kind === 'wish' ? [said.wish] : said.kind === 'batch' ? said.wishes : []

/** Until when the gate was closed when this delivery arrived, by the verdicts that had been given. */
const heldUntil = (ran: ReadonlyArray<Ran>, most: number, { arrived }: Ran): number => {
  let until = -Infinity
  for (const { step, heard, replied } of ran) {
    const verdict = heard.find((each) => each.what === 'next' && each.verdict === replied)
    if (verdict === undefined || verdict.order > arrived.order) continue
    for (const wish of wishesOf(step.said)) {
      if (wish === null || Number.isNaN(wish)) continue
      const wished = Math.min(Math.ceil(verdict.at + wish), verdict.at + most)
      if (wished > verdict.at) until = Math.max(until, wished)
    }
  }
  return until > arrived.at ? until : -Infinity
}

export const gateLaws = lawTable(
  world,
  // Two sinks behind one gate.
  (make: MakeGate, { most, steps }) => deliverAll(make(most), steps, 2),
  {
    'G1 all starts from the latest moment asked for on': ({ ran }: Trace, { most }: { most: number }) =>
      ran.forEach((one) => same(one.started === undefined, heldUntil(ran, most, one) > -Infinity)),
    'G2 what is held back has its verdict at once, with the moment': ({ ran }, { most }) => {
      for (const one of ran.filter(({ started }) => started === undefined)) {
        same(
          one.heard.map(({ what, at }) => [what, at]),
          ['next', 'complete'].map((what) => [what, one.arrived.at]),
        )
        const failure = one.heard[0]?.verdict?._tag === 'Left' ? one.heard[0].verdict.left : undefined
        if (failure?._tag !== 'Retryable') throw new Error('it may not be tried again')
        same([failure.reason, failure.notBefore], ['held', heldUntil(ran, most, one)])
      }
    },
    'G5 there is no timer': ({ mostTimers }) => same(mostTimers, 0),
  },
)

it('withRetryAfterGate keeps its laws', () =>
  fc.assert(gateLaws.all((most) => withRetryAfterGate({ maxDelay: most }))))
