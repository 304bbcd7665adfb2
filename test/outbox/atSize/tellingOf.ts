import { expect } from 'vitest'
import type { Told } from './life.ts'

/** No process of these tests may take more, mapped files included. */
const MEGABYTES = 400

/** Says what a phase took, and holds its memory to the bound. The time counts from the last word. */
export const tellingOf = (): ((what: string, told: Told<unknown>) => void) => {
  let firstAttemptAt = performance.now()
  return (what, { peak, stall }) => {
    const now = performance.now()
    const seconds = ((now - firstAttemptAt) / 1_000).toFixed(1)
    const megabytes = Math.round(peak / 1e6)
    console.log(`${what}: ${seconds} s, at most ${megabytes} MB, longest stall ${Math.round(stall)} ms`)
    firstAttemptAt = now
    expect(megabytes).toBeLessThan(MEGABYTES)
  }
}
