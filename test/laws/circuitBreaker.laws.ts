import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { of } from 'rxjs'
import { describe, expect, test } from 'vitest'
import { notAll, onlyAttempt, partlyFailed, retryable } from '../../src/index.ts'
import { withCircuitBreaker, type Layer } from '../../src/index.ts'
import { itKeeps, law, same, type Law } from '../support/check.ts'
import { deliverAll } from './deliveries.ts'
import { notBeforeOf, steps, verdictIn } from './memoryLayers.ts'

export type MakeBreaker = (failures: number, openTimeout: number) => Layer

const world = fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 300 }), steps)
export const breakerLaws = (make: MakeBreaker): ReadonlyArray<Law> => [
  law('B1 a delivery starts unless the circuit is open', world, async ([failures, openTimeout, drawn]) => {
    // One at a time and at once: the model needs no idea of what runs beside.
    const script = drawn.map((step) => ({ ...step, after: null, cancelAt: null }))
    const { ran } = await deliverAll(make(failures, openTimeout), script)
    let failed = 0
    let probeAt: number | undefined
    for (const one of ran) {
      const { step, arrived } = one
      const isOpen = probeAt !== undefined && arrived.at < probeAt
      same(notBeforeOf(verdictIn(one)), isOpen ? probeAt : undefined)
      if (isOpen) continue
      if (probeAt !== undefined) probeAt = arrived.at + openTimeout
      const { said } = step
      const isPartlyTaken = said.kind === 'batch' && said.wishes.includes(null)
      if (said.kind === 'taken' || said.kind === 'refused' || isPartlyTaken) {
        failed = 0
        probeAt = undefined
      } else if (said.kind !== 'full' && ++failed >= failures) probeAt = arrived.at + openTimeout
    }
  }),
]

const partly = partlyFailed([right({ sink: 's' }), left(retryable('network'))])
const ofSeveral = notAll([{ sink: 's', verdict: left(partly) }])
test.each([
  ['that ended before do not close it', partly, partly, [false, false, true]],
  ['that end keep it closed', partly, undefined, [false, false, false]],
  ['that end at one of several sinks keep it closed', ofSeveral, undefined, [false, false, false]],
])('parts of a batch %s', (_, failure, lastFailure, expected) => {
  const inner = { name: 's', deliver: () => of(left(failure)), close: async () => undefined }
  const sink = withCircuitBreaker({ failures: 2 })(inner)
  const held: unknown[] = []
  const attempt = { ...onlyAttempt, lastFailure }
  for (let n = 0; n < 3; n++)
    sink.deliver(1, attempt).subscribe((verdict) => held.push(notBeforeOf(verdict) !== undefined))
  expect(held).toEqual(expected)
})

describe('withCircuitBreaker', () =>
  itKeeps(breakerLaws((failures, openTimeout) => withCircuitBreaker({ failures, openTimeout }))))
