import type { Either } from 'fp-ts/lib/Either.js'
import { ConfigError, type Fault } from '../../src/core/refusal.ts'

export const pathsIn = (decoded: Either<ReadonlyArray<Fault>, unknown>): ReadonlyArray<string> =>
  decoded._tag === 'Left' ? decoded.left.map(({ path }) => path) : []

export const thrown = (call: () => unknown): unknown => {
  try {
    call()
    return undefined
  } catch (error) {
    return error
  }
}

export const faultPaths = (make: () => unknown): ReadonlyArray<string> => {
  const error = thrown(make)
  if (error === undefined) return []
  if (error instanceof ConfigError) return error.faults.map(({ path }) => path)
  throw error as Error
}
