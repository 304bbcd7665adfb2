import { test } from 'vitest'
import { profile } from './runs.ts'

/** A test of the full profile. In the short one it is not there, so that a skipped test is always a fault. */
export const fullTest = (name: string, run: () => Promise<void> | void, timeout?: number): void => {
  if (profile !== 'short') test(name, run, timeout)
}
