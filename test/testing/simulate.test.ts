import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { left, right } from 'fp-ts/lib/Either.js'
import { firstValueFrom } from 'rxjs'
import { retryable } from '../../src/core/failure.ts'
import { withRetry } from '../../src/outbox/withRetry.ts'
import { both, exponential, fullJitter, limitRetries } from '../../src/policy/retryPolicy.ts'
import { sink } from '../../src/sink/fromFunction.ts'
import { onlyAttempt } from '../../src/sink/sink.ts'
import { simulate } from '../../src/testing/simulate.ts'

/** Three deliveries with retries, each of which writes to the disk. */
const life = async (seed: number): Promise<ReadonlyArray<string>> => {
  const play = simulate(
    seed,
    async ({ clock, random, network, disk }) => {
      const mine = sink('mine', async (item: number, { signal }) => {
        await disk.append('journal', String(item))
        const { status } = await network.request({ body: String(item), signal })
        return status < 300 ? right({ sink: 'mine', status }) : left(retryable('status', { status }))
      })
      const policy = both(fullJitter(exponential({ base: 10 })), limitRetries(5))
      const patient = withRetry(policy, { clock, random })(mine)
      const all = [1, 2, 3].map((item) =>
        firstValueFrom(patient.deliver(item, onlyAttempt), { defaultValue: undefined }),
      )
      return (await Promise.all(all)).map((verdict) => verdict?._tag)
    },
    { network: [503, 503, 200, 503].map((code) => ({ do: 'status', code, after: 5 })) },
  )
  const { value, trace } = await play
  expect(value).toEqual(['Right', 'Right', 'Right'])
  return trace
}

describe('simulate', () => {
  it('gives the same trace for the same seed, and others for others', async () => {
    const traces = new Set<string>()
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const once = await life(seed)
        expect(await life(seed)).toEqual(once)
        traces.add(once.join('\n'))
      }),
      { numRuns: 30 },
    )
    expect(traces.size).toBeGreaterThan(20)
  })

  it('says the seed, the error and the end of the trace', async () => {
    const broken = simulate(3, async ({ network, log }) => {
      await network.request()
      log('before the end')
      throw new Error('planted')
    })
    await expect(broken).rejects.toThrow(
      /^seed 3: planted\n {2}the end of the trace:\n(.|\n)*\n {2}0 ms: before the end$/,
    )
  })

  it('reports a program that waits for ever', async () => {
    await expect(simulate(1, () => new Promise(() => undefined))).rejects.toThrow('seed 1: deadlock')
    await expect(
      simulate(1, ({ network }) => network.request(), { network: [{ do: 'silence' }] }),
    ).rejects.toThrow('deadlock')
  })
})
