import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import { withCircuitBreaker } from '../../src/index.ts'
import { same, type Law } from '../support/check.ts'
import { steps, play, notBeforeOf, run, type Wrap } from './memoryLayers.ts'

export type MakeBreaker = (failures: number, openTimeout: number) => Wrap

const breakers = fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 300 }), steps)

export const breakerLaws = (make: MakeBreaker): ReadonlyArray<Law> => [
  {
    id: 'B1 a delivery starts unless the circuit is open, as a model in plain code says',
    property: fc.asyncProperty(breakers, async ([failures, openTimeout, drawn]) => {
      // One at a time and at once: the model needs no idea of what runs beside.
      const script = drawn.map((step) => ({ ...step, after: 0, isCancelled: false }))
      const { heard } = play(make(failures, openTimeout), script)
      let failed = 0
      let probeAt: number | undefined
      for (const { step, verdict, startedAt } of heard) {
        const isOpen = probeAt !== undefined && startedAt < probeAt
        same(notBeforeOf(verdict), isOpen ? probeAt : undefined)
        if (isOpen) continue
        if (probeAt !== undefined) probeAt = startedAt + openTimeout
        if (step.kind === 'take' || step.kind === 'refuse') {
          failed = 0
          probeAt = undefined
        } else if (step.kind === 'retry' && ++failed >= failures) probeAt = startedAt + openTimeout
      }
    }),
  },
]
describe('withCircuitBreaker', () =>
  it.each(breakerLaws((failures, openTimeout) => withCircuitBreaker({ failures, openTimeout })))('$id', run))
