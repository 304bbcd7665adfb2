/** The time of one attempt, against an oracle in plain code; and the number of timers. */
import * as fc from 'fast-check'
import { it } from 'vitest'
import { withTimeout, type Layer } from '../../src/index.ts'
import { holds, lawTable, same, type Drawn } from '../support/check.ts'
import { deliverAll, type Heard, type Ran, type Step, stepsOf, type Trace } from './deliveries.ts'

export type MakeTimeout = (within: number) => Layer

/** Around the limit, one millisecond to either side, and anywhere. */
const around = (within: number): fc.Arbitrary<number> =>
  fc.oneof(fc.constantFrom(within - 1, within, within + 1), fc.nat(within), fc.nat(within * 2 + 5))

const world = fc.integer({ min: 1, max: 30 }).chain((within) =>
  fc.record({
    within: fc.constant(within),
    steps: stepsOf(around(within), {
      gap: fc.oneof(fc.constant(0), fc.nat(within)),
      after: fc.oneof({ weight: 5, arbitrary: around(within) }, fc.constantFrom('never' as const, null)),
    }),
  }),
)
type World = Drawn<typeof world>

const isTimeout = ({ verdict }: Heard): boolean =>
  verdict?._tag === 'Left' && verdict.left._tag === 'Retryable' && verdict.left.reason === 'timeout'

const told = ({ heard, arrived, replied }: Ran): unknown =>
  heard.map((each) => {
    const what = each.what !== 'next' ? each.what : isTimeout(each) ? 'timeout' : 'verdict'
    if (what === 'verdict') holds(each.verdict === replied, 'another verdict')
    return `${what} at ${each.at - arrived.at}`
  })

const timesOf = ({ after, rest }: Step): readonly [verdict: number, end: number] => {
  const verdict = after === 'never' ? Infinity : (after ?? 0)
  return [verdict, verdict + (rest ?? 0)]
}

/** An attempt has the time up to, but not including, `within`; what is due at the moment of a cancel has happened. */
const oracle = (within: number, step: Step): unknown => {
  const [verdict, end] = timesOf(step)
  const known = step.defect === 'only' ? end : verdict
  const whole: Array<readonly [what: string, at: number]> = []
  if (known >= within) whole.push(['timeout', within], ['complete', within])
  else {
    if (step.defect !== 'only') whole.push(['verdict', verdict])
    whole.push([step.defect !== 'none' && end < within ? 'error' : 'complete', Math.min(end, within)])
  }
  const { cancelAt } = step
  return whole.flatMap(([what, at]) => (cancelAt === null || at <= cancelAt ? [`${what} at ${at}`] : []))
}

/** At `within` both a defect of the sink and the timeout may be due: either may come first. */
const isTie = (within: number, step: Step): boolean => step.defect !== 'none' && timesOf(step)[1] === within

export const timeoutLaws = lawTable(
  world,
  // Two sinks in one layer.
  (make: MakeTimeout, { within, steps }) => deliverAll(make(within), steps, 2),
  {
    'T1 verdict and end are those of the oracle, at its times': ({ ran }: Trace, { within }: World) => {
      for (const one of ran) if (!isTie(within, one.step)) same(told(one), oracle(within, one.step))
    },
    'T2 nothing runs after the timeout': ({ ran }, { within }) =>
      ran.forEach(({ arrived, ended }) => holds((ended?.at ?? Infinity) - arrived.at <= within, 'it ran on')),
    'T3 one timer for all': ({ mostTimers }) => holds(mostTimers <= 1, `${mostTimers} timers`),
  },
)

it('withTimeout keeps its laws', () => fc.assert(timeoutLaws.all((timeout) => withTimeout({ timeout }))))
