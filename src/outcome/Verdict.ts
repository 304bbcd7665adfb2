import type { Either } from 'fp-ts/lib/Either.js'
import type { Failure } from './Failure.ts'
import type { Receipt } from './Receipt.ts'

/** How one delivery went. */
export type Verdict = Either<Failure, Receipt>
