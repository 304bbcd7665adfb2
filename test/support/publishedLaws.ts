import * as t from 'io-ts'
import { isRecord } from '../../src/core/json.ts'
import { batchLaws, clientLaws, failoverLaws, firstSuccessLaws } from '../../src/testing/laws/index.ts'
import { toAllLaws, layerLaws, arbitraryFor, codecLaws, outboxLaws } from '../../src/testing/laws/index.ts'
import { policyLaws, pipelineLaws, sharedOutboxLaws, signLaws } from '../../src/testing/laws/index.ts'
import { sinkLaws, type Broken, type Law } from '../../src/testing/laws/index.ts'
import type { MakeCombination } from '../../src/testing/laws/combinatorLaws.ts'
import * as published from '../../src/testing/laws/brokenParts.ts'

import * as more from './brokenVersions.ts'

/** A mutant: the law with the id `breaks` must find it. */
type Mutant = Readonly<{ name: string; breaks: string; laws: () => ReadonlyArray<Law> }>

export interface Room {
  readonly name: string
  readonly laws: ReadonlyArray<Law>
  readonly mutants: ReadonlyArray<Mutant>
}

const roomOf = <Make>(
  name: string,
  lawsOf: (make: Make) => ReadonlyArray<Law>,
  broken: Readonly<Record<string, Broken<Make>>>,
): Room => {
  const mutants = Object.entries(broken).map(([fault, { breaks, make }]): Mutant => {
    return { name: fault, breaks, laws: () => lawsOf(make) }
  })
  return { name, laws: mutants[0]?.laws() ?? [], mutants }
}

const userOf = (item: unknown) => (isRecord(item) ? String(item['userId']) : undefined)
const Order = t.strict({ id: t.string, lines: t.array(t.strict({ sku: t.string, count: t.number })) })
const arbitrary = arbitraryFor(Order)

const combinationLaws = (make: MakeCombination): ReadonlyArray<Law> => [
  ...firstSuccessLaws(make),
  ...failoverLaws(make),
  ...toAllLaws(make),
]

export const pushedOutboxes = roomOf(
  'outboxes of a server that pushes',
  (make) => outboxLaws(make, more.pushed),
  more.brokenPushing,
)

export const rooms: ReadonlyArray<Room> = [
  roomOf('sinks', (make) => sinkLaws(make, { retryAfter: true }), {
    ...published.broken.sinks,
    ...more.moreBrokenSinks,
  }),
  roomOf('combinations of sinks', combinationLaws, more.brokenCombinations),
  roomOf('layers', (make) => layerLaws(make).filter(({ id }) => id.startsWith('layer/')), {
    ...published.broken.layers,
    ...more.moreBrokenLayers,
  }),
  roomOf('outboxes', outboxLaws, { ...published.broken.outboxes, ...more.moreBrokenOutboxes }),
  roomOf('shared outboxes', sharedOutboxLaws, more.brokenSharedOutboxes),
  roomOf('pipelines', (make) => pipelineLaws(make, { keyOf: userOf }), {
    ...published.broken.pipelines,
    ...more.moreBrokenPipelines,
  }),
  roomOf('batchers', batchLaws, { ...published.broken.batchers, ...more.moreBrokenBatchers }),
  roomOf('retry policies', policyLaws, { ...published.broken.policies, ...more.moreBrokenPolicies }),
  roomOf('signing', signLaws, { ...published.broken.signers, ...more.moreBrokenSigners }),
  roomOf('codecs', (make: published.ChangeCodec) => codecLaws(make(Order), { arbitrary }), {
    ...published.broken.codecs,
    ...more.moreBrokenCodecs,
  }),
  roomOf('clients', clientLaws, more.brokenClients),
]
