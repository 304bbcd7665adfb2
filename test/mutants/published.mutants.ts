/** Each published mutant breaks the law that is named beside it, within 100 runs, whatever the seed; and each law is broken by one. */
import * as t from 'io-ts'
import { describe, expect, it } from 'vitest'
import { isRecord } from '../../src/core/json.ts'
import { batchLaws } from '../../src/testing/laws/batchLaws.ts'
import { brokenBatchers } from '../../src/testing/laws/brokenBatchers.ts'
import { brokenCodecs, type ChangeCodec } from '../../src/testing/laws/brokenCodecs.ts'
import { brokenClients } from '../../src/testing/laws/brokenClients.ts'
import { brokenOutboxes } from '../../src/testing/laws/brokenOutboxes.ts'
import { brokenPolicies } from '../../src/testing/laws/brokenPolicies.ts'
import { brokenCombinators } from '../../src/testing/laws/brokenCombinators.ts'
import { brokenLayers } from '../../src/testing/laws/brokenLayers.ts'
import { brokenPipelines } from '../../src/testing/laws/brokenPipelines.ts'
import { brokenSharedOutboxes } from '../../src/testing/laws/brokenSharedOutboxes.ts'
import { brokenSigners } from '../../src/testing/laws/brokenSigners.ts'
import { brokenSinks } from '../../src/testing/laws/brokenSinks.ts'
import { clientLaws } from '../../src/testing/laws/clientLaws.ts'
import { reportOf } from '../../src/testing/laws/checkLaws.ts'
import { failoverLaws, firstSuccessLaws, toAllLaws } from '../../src/testing/laws/combinatorLaws.ts'
import type { MakeCombination } from '../../src/testing/laws/combinatorLaws.ts'
import { layerLaws } from '../../src/testing/laws/layerLaws.ts'
import { arbitraryFor } from '../../src/testing/laws/codecArbitrary.ts'
import { codecLaws } from '../../src/testing/laws/codecLaws.ts'
import type { Broken, Law } from '../../src/testing/laws/law.ts'
import { outboxLaws } from '../../src/testing/laws/outboxLaws.ts'
import { policyLaws, type MakePolicy } from '../../src/testing/laws/policyLaws.ts'
import { pipelineLaws } from '../../src/testing/laws/pipelineLaws.ts'
import { sharedOutboxLaws } from '../../src/testing/laws/sharedOutboxLaws.ts'
import { signLaws } from '../../src/testing/laws/signLaws.ts'
import { sinkLaws } from '../../src/testing/laws/sinkLaws.ts'

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

/** Over how many of the seeds the mutant is found. */
const found = async (laws: ReadonlyArray<Law>, id: string): Promise<ReadonlyArray<number>> => {
  const broken: number[] = []
  for (const law of laws.filter((each) => each.id === id))
    for (const seed of SEEDS)
      if ((await reportOf(law, { runs: 100, seed })).result === 'broken') broken.push(seed)
  return broken
}

const eachIsFound = <Make>(
  room: string,
  lawsOf: (make: Make) => ReadonlyArray<Law>,
  mutants: Readonly<Record<string, Broken<Make>>>,
): void => {
  const table = Object.entries(mutants)
  describe(`the laws of ${room}`, () => {
    it.each(table.map(([name, each]) => ({ name, ...each })))('$breaks: one that $name', async (mutant) => {
      expect(await found(lawsOf(mutant.make), mutant.breaks)).toEqual(SEEDS)
    })
    it('are each broken by one', () => {
      const laws = table.slice(0, 1).flatMap(([, { make }]) => lawsOf(make))
      const killed = new Set(table.map(([, { breaks }]) => breaks))
      expect(laws.map(({ id }) => id).filter((id) => !killed.has(id))).toEqual([])
    })
  })
}

eachIsFound('batch', batchLaws, brokenBatchers)
eachIsFound('signing', signLaws, brokenSigners)
eachIsFound('a sink', (make) => sinkLaws(make, { retryAfter: true }), brokenSinks)
eachIsFound('outbox', outboxLaws, brokenOutboxes)
eachIsFound<MakePolicy>('policies', policyLaws, brokenPolicies)
eachIsFound('a layer', (make) => layerLaws(make).filter(({ id }) => id.startsWith('layer/')), brokenLayers)
const userOf = (item: unknown) => (isRecord(item) ? String(item['userId']) : undefined)
eachIsFound('pipeline', (make) => pipelineLaws(make, { keyOf: userOf }), brokenPipelines)
eachIsFound('a shared outbox', sharedOutboxLaws, brokenSharedOutboxes)

const combinationLaws = (make: MakeCombination): ReadonlyArray<Law> => [
  ...firstSuccessLaws(make),
  ...failoverLaws(make),
  ...toAllLaws(make),
]
eachIsFound('a combination', combinationLaws, brokenCombinators)
const Order = t.strict({ id: t.string, lines: t.array(t.strict({ sku: t.string, count: t.number })) })
const arbitrary = arbitraryFor(Order)
eachIsFound<ChangeCodec>('codecs', (make) => codecLaws(make(Order), { arbitrary }), brokenCodecs)
eachIsFound('client', clientLaws, brokenClients)
