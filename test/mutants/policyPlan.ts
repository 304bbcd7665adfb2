/** Plans with one mistake each, made from the right one. */
import { plan } from '../../src/policy/plan.ts'
import type { PlannedAttempt } from '../../src/policy/plan.ts'
import type { PlanFunction } from '../laws/policyPlan.ts'

/** A mistake, and the law that is there to find it. */
export interface PlanMutant {
  readonly name: string
  readonly law: RegExp
  readonly plan: PlanFunction
}

const each =
  (change: (attempt: PlannedAttempt) => PlannedAttempt): PlanFunction =>
  (policy, options) =>
    plan(policy, options).map(change)

/** Every one of them must be killed. */
export const planMutants: ReadonlyArray<PlanMutant> = [
  {
    name: 'forgets how long attempts take',
    law: /^R9/,
    plan: (policy, options) => plan(policy, { ...options, duration: 0 }),
  },
  {
    name: 'takes every verdict for a failure',
    law: /^R9/,
    plan: (policy, { random, duration = 0, most = 1_000 }) => plan(policy, { random, duration, most }),
  },
  {
    name: 'leaves out the last attempt',
    law: /^R9/,
    plan: (policy, options) => {
      const attempts = plan(policy, options)
      return attempts.length > 1 ? attempts.slice(0, -1) : attempts
    },
  },
  { name: 'delays the first attempt', law: /^R1 /, plan: each((one) => ({ ...one, at: one.at + 1 })) },
  { name: 'counts from zero', law: /^R10/, plan: each((one) => ({ ...one, number: one.number - 1 })) },
  { name: 'gives no reason', law: /^R10/, plan: each((one) => ({ ...one, because: '' })) },
  {
    name: 'measures the delay from the start of the attempt before',
    law: /^R2/,
    plan: (policy, options) =>
      plan(policy, options).map((one, i, all) => ({ ...one, delay: one.at - (all[i - 1]?.at ?? 0) })),
  },
  {
    name: 'does not stop',
    law: /longer/,
    plan: (policy, options) => plan(policy, { ...options, most: (options.most ?? 1_000) + 1 }),
  },
]
