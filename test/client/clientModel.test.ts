import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/createClient.ts'
import { clientMutants, programMutants } from '../mutants/client.ts'
import { program } from './commands.ts'
import type { Program } from './commands.ts'
import { playProgram } from './playProgram.ts'
import type { OpenClient } from './world.ts'

const agreement = (open: OpenClient, reached = new Map<string, number>()): fc.IAsyncProperty<[Program]> =>
  fc.asyncProperty(program, async (given) => {
    const [seen, wanted] = await playProgram(given, open, reached)
    expect(seen).toEqual({ ...wanted, stats: {} })
  })

describe('a client, P9', () => {
  it('does to the millisecond what the model does, in 1,000 programs', async () => {
    const reached = new Map<string, number>()
    await fc.assert(agreement(createClient, reached), { numRuns: 1_000 })
    for (const what of [
      'Full',
      'Closed',
      'delivered',
      'rejected',
      'expired',
      'dropped',
      'abandoned',
      'ready',
    ])
      expect([what, (reached.get(what) ?? 0) > 100]).toEqual([what, true])
  }, 120_000)

  const shared = ['puts too few into a batch', 'is too patient with a request', 'flushes nothing']
  const mutants = Object.entries({ ...clientMutants, ...programMutants }).filter(
    ([name]) => shared.includes(name) || name in programMutants,
  )
  it.each(mutants)(
    'that %s is caught',
    async (_, mutant) => {
      const { failed } = await fc.check(agreement(mutant), { numRuns: 1_000, endOnFailure: true })
      expect(failed).toBe(true)
    },
    120_000,
  )
})
