import { describe, expect, test } from 'vitest'
import { withRetryAfterGate } from '../../src/sink/retryAfterGate.ts'
import { holdingBackLaws, type MakeHoldingBack, type Ran } from '../laws/withRetryAfterGate.ts'
import { holdingBackMutants, plainHoldingBack } from '../mutants/withRetryAfterGate.ts'

const real: MakeHoldingBack = (most, clock) => withRetryAfterGate({ most, clock })

describe('withRetryAfterGate:', () => {
  const reached = {
    deliveries: 0,
    held: 0,
    startedAtTheMoment: 0,
    heldInTheLastMoment: 0,
    ranOn: 0,
    defects: 0,
    cancelled: 0,
  }
  const count = (ran: ReadonlyArray<Ran>): void => {
    reached.deliveries += ran.length
    for (const { startedAt, heldUntil, call, delivery, heard } of ran) {
      if (startedAt < heldUntil) reached.held++
      if (startedAt === heldUntil) reached.startedAtTheMoment++
      if (startedAt === heldUntil - 1) reached.heldInTheLastMoment++
      if (call !== undefined && delivery.after !== null && delivery.after > 10) reached.ranOn++
      if (heard.at(-1)?.what === 'error') reached.defects++
      if (call?.ended === 'cancelled') reached.cancelled++
    }
  }

  for (const { id, check } of holdingBackLaws(real, count)) test(id, check)

  test('the worlds reached the moments', () => {
    for (const [what, times] of Object.entries(reached)) expect(times, what).toBeGreaterThan(100)
  })
})

describe('the laws', () => {
  test('hold for a second, plain implementation', () => {
    for (const { id, fails } of holdingBackLaws(plainHoldingBack)) expect(fails(), id).toBe(false)
  })

  test.each(holdingBackMutants)('kill one that $name', ({ make }) => {
    expect(holdingBackLaws(make).find(({ fails }) => fails())?.id).toBeDefined()
  })
})
