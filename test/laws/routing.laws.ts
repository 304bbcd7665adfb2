/** First success, failover and toAll over several attempts, alone and inside each other. */
import { describe, it } from 'vitest'
import { isFinal } from '../../src/core/failure.ts'
import { failover, firstSuccess, toAll, type Sink } from '../../src/index.ts'
import { holds, lawsOver, registerLaws, same, type Law } from '../../src/testing/laws/index.ts'
import { combinationInput, failoverLaws, firstSuccessLaws } from '../../src/testing/laws/combinatorLaws.ts'
import { playCombination, toAllLaws, type MakeCombination } from '../../src/testing/laws/combinatorLaws.ts'

/** Two groups, each of `inner`, under one `outer` that wants both. */
const nested =
  (inner: MakeCombination, outer: MakeCombination): MakeCombination =>
  (sinks) => {
    const middle = Math.ceil(sinks.length / 2)
    const groups = [sinks.slice(0, middle), sinks.slice(middle)].filter((group) => group.length > 0)
    return outer(groups.map((group) => inner(group)))
  }

const rules = { isInTurn: false, wantsAll: true }

export const nestedLaws = (inner: MakeCombination, outer: MakeCombination): ReadonlyArray<Law> =>
  lawsOver(
    'nested',
    combinationInput,
    (input, run) => playCombination(nested(inner, outer), rules, input, run),
    {
      'group-asked-once': {
        statement: 'No sink is asked again that refused for good, or whose group has taken the item.',
        check: ({ attempts, timers }, { sinks, attempts: replies }) => {
          const groupOf = (sink: number): number => (sink < Math.ceil(sinks / 2) ? 0 : 1)
          const taken = new Set<number>()
          const refused = new Set<number>()
          for (const [number, { seen }] of attempts.entries()) {
            const asked = seen.asked.map(({ sink }) => sink)
            same([seen.verdicts.length, seen.endedAt === undefined], [1, false])
            same(new Set(asked).size, asked.length)
            for (const sink of asked) {
              holds(!taken.has(groupOf(sink)), `sink ${sink} was asked after its group had taken the item`)
              holds(!refused.has(sink), `sink ${sink} was asked after a final refusal`)
            }
            for (const sink of asked) {
              const verdict = replies[number]?.[sink]?.verdict
              if (verdict?._tag === 'Right') taken.add(groupOf(sink))
              else if (verdict !== undefined && isFinal(verdict)) refused.add(sink)
            }
            same(seen.verdicts[0]?.verdict._tag === 'Right', taken.size === Math.min(2, sinks))
          }
          same(timers, [])
        },
      },
    },
  )

type Sinks = ReadonlyArray<Sink<string>>
const first = (sinks: Sinks): Sink<string> => firstSuccess(sinks)
const inTurn = (sinks: Sinks): Sink<string> => failover(sinks)
const all = (sinks: Sinks): Sink<string> => toAll(sinks)

registerLaws({ test: it }, [...firstSuccessLaws(first), ...failoverLaws(inTurn), ...toAllLaws(all)])
describe('failover in toAll', () => registerLaws({ test: it }, nestedLaws(inTurn, all)))
describe('firstSuccess in toAll', () => registerLaws({ test: it }, nestedLaws(first, all)))
