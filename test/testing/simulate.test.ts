import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { simulate, type World } from '../../src/testing/simulate.ts'

/** Three programs at the same time, each with requests, waits and writes. */
const life = async ({ clock, random, network, disk }: World): Promise<void> => {
  const one = async (name: string): Promise<void> => {
    for (let n = 0; n < 3; n++) {
      const { status } = await network.request({ body: name })
      await clock.sleep(status * random())
      await disk.append('journal', name)
    }
  }
  await Promise.all(['a', 'b', 'c'].map(one))
}

describe('simulate', () => {
  it('gives the same trace for the same seed, and others for others', async () => {
    const traceOf = async (seed: number): Promise<string> => {
      const { trace } = await simulate(seed, life, { network: [{ do: 'status', code: 503, after: 5 }] })
      return trace.join('\n')
    }
    const traces = new Set<string>()
    for (const seed of fc.sample(fc.nat(), 30)) {
      const trace = await traceOf(seed)
      expect(await traceOf(seed)).toBe(trace)
      traces.add(trace)
    }
    expect(traces.size).toBeGreaterThan(20)
  })

  it('says the seed, the error and the end of the trace', async () => {
    const broken = simulate(3, async ({ log }) => {
      log('before the end')
      throw new Error('planted')
    })
    await expect(broken).rejects.toThrow(/^seed 3: planted\n +the end of the trace:\n +0 ms: before the end$/)
    const silent = simulate(1, ({ network }) => network.request(), { network: [{ do: 'silence' }] })
    await expect(silent).rejects.toThrow(/^seed 1: deadlock(.|\n)*request 0/)
  })
})

it('says that a simulation within another one has to be in hold', async () => {
  const inner = () => simulate(2, ({ clock }) => clock.sleep(5))
  await expect(simulate(1, inner)).rejects.toThrow('a `simulate` within another one has to be in `hold`')
  const { duration } = await simulate(1, ({ clock }) => clock.hold(inner()))
  expect(duration).toBe(0)
})
