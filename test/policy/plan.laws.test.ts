import { describe, expect, it } from 'vitest'
import { plan } from '../../src/policy/plan.ts'
import { planLaws } from '../laws/policyPlan.ts'
import { planMutants } from '../mutants/policyPlan.ts'

describe('plan', () => {
  it.each(planLaws(plan))('keeps $id', ({ check }) => {
    check()
  })

  it.each(planMutants)('would be caught if it $name', ({ plan: mutated, law }) => {
    const killers = planLaws(mutated).filter(({ fails }) => fails())
    expect(killers.some(({ id }) => law.test(id))).toBe(true)
  })
})
