import type { Either } from 'fp-ts/lib/Either.js'
import type { Observable } from 'rxjs'

/**
 * A stream as a railway: the left side is an item that has ended, with its identity; operators work on the right side and
 * let the left pass. At the end of the line stands exactly one value for every item that came in.
 */
export type Rail<L, A> = Observable<Either<L, A>>
