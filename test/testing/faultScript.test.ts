import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Misbehaviour, FaultScript } from '../../src/testing/faults.ts'
import { faultScript } from '../../src/testing/laws/faultScript.ts'

type Options = Parameters<typeof faultScript>[0]
const reached = (textsOf: (fault: Misbehaviour) => ReadonlyArray<unknown>, options: Options = {}) => {
  const counts = new Map<unknown, number>()
  for (const script of fc.sample(faultScript(options), { numRuns: 1_000, seed: 7 }))
    for (const text of script.flatMap(textsOf)) counts.set(text, (counts.get(text) ?? 0) + 1)
  return counts
}

test('every kind of fault and the delays around the timeout are reached, and no kind that is left out', () => {
  const without = ['tls', 'dns', 'refuse'] as const
  const kinds = reached((fault) => [fault.do])
  expect([kinds.size, Math.min(...kinds.values()) > 100]).toEqual([16, true])
  expect(reached((fault) => [fault.do], { without }).size).toBe(13)
  expect(reached((fault) => (fault.do === 'tls' ? [fault.kind] : [])).size).toBe(4)
  const delays = reached((fault) => ('after' in fault ? [fault.after] : []), { timeout: 250 })
  for (const delay of [0, 249, 250, 251]) expect(delays.get(delay)).toBeGreaterThan(100)
})

const isLate = (fault: Misbehaviour) => fault.do === 'status' && (fault.after ?? 0) >= 5_000
test.each<readonly [string, (script: FaultScript) => boolean, FaultScript]>([
  ['always', () => false, []],
  ['with a fault', (script) => script.length === 0, [{ do: 'status', code: 200 }]],
  ['with a delay of 5,000 ms', (script) => !script.some(isLate), [{ do: 'status', code: 200, after: 5_000 }]],
])('shrinks towards the healthy receiver: a law that breaks %s', (_name, law, least) => {
  for (let seed = 1; seed <= 20; seed++)
    expect(fc.check(fc.property(faultScript(), law), { seed, numRuns: 1e3 }).counterexample).toEqual([least])
})
