import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { mkdirSync } from 'node:fs'
import type { OutboxFault } from '../OutboxError.ts'
import { systemFault } from './systemFault.ts'

/** Makes the folder of a store, if it is not there. */
export const makeFolder = (path: string): Either<OutboxFault, void> => {
  try {
    // Events are somebody's data: the folder is for this user alone.
    mkdirSync(path, { recursive: true, mode: 0o700 })
    return right(undefined)
  } catch (error) {
    return left(systemFault(path, error))
  }
}
