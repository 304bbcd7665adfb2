import type * as t from 'io-ts'
import { map, type Observable } from 'rxjs'
import { ignoreRejection } from '../core/awaitable.ts'
import { isLeft, left, type Either } from '../core/either.ts'
import { hasFunctions, kindOf } from '../core/json.ts'
import { isEither, type EitherSource, type ObservableEither } from '../core/outcome.ts'
import { invalid, type Refusal } from '../core/refusal.ts'
import { faultsOf } from '../event/codecFaults.ts'
import { changeRight } from './rightSide.ts'

const THREW = [{ path: '', message: 'could not be read: the codec or a getter of the input throws an error' }]
const UNJUDGED = [
  { path: '', message: 'is not judged: the codec answers no Either; if it answers later, use enrich' },
]

const decoderOf = <A>(operator: string, codec: t.Type<A, unknown>) => {
  if (!hasFunctions(codec, ['decode', 'encode']))
    throw new TypeError(`${operator}: expected an io-ts codec, got ${kindOf(codec)}`)
  return (input: unknown): Either<Refusal, A> => {
    try {
      const decoded = codec.decode(input)
      if (isLeft(decoded)) return left(invalid(input, faultsOf(decoded.left)))
      if (isEither(decoded)) return decoded
      ignoreRejection(decoded)
      return left(invalid(input, UNJUDGED))
    } catch {
      return left(invalid(input, THREW))
    }
  }
}

/**
 * Passes what an io-ts codec accepts. The rest becomes `Invalid` with all its faults, each with its path. An
 * error thrown by the codec or a getter affects that item only.
 *
 * `Event` decodes into a copy: later changes of the input have no effect. A codec of your own may return the
 * input itself.
 *
 *     in:   a    x    b       x is not valid
 *     out:  R(a) L(x) R(b)
 *
 * @example
 * import { Event } from 'headrace/events'
 * import { validate } from 'headrace'
 * import { of } from 'rxjs'
 * of({ type: 'track', userId: 7 }).pipe(validate(Event)).subscribe((each) => {
 *   if (each._tag === 'Left' && each.left._tag === 'Invalid')
 *     console.log(each.left.faults.map(({ path }) => path))
 * })
 * // => [ 'event', 'userId' ]
 */
export const validate = <A>(
  codec: t.Type<A, unknown>,
): ((source: Observable<unknown>) => ObservableEither<Refusal, A>) => {
  const decode = decoderOf('validate', codec)
  return (source) => source.pipe(map(decode))
}

/**
 * As `validate`, for the right side of a stream of `Either`. Lefts pass.
 *
 *     in:   R(a) L(y) R(x)          x is not valid
 *     out:  R(a) L(y) L(Invalid(x))
 *
 * @example
 * import { Event } from 'headrace/events'
 * import { lift, mapRight, validateRight } from 'headrace'
 * import { of } from 'rxjs'
 * of('{"type":"delete","userId":"u1"}')
 *   .pipe(lift(), mapRight((text): unknown => JSON.parse(text)), validateRight(Event))
 *   .subscribe((each) => console.log(each._tag)) // => Right
 */
export const validateRight = <A>(
  codec: t.Type<A, unknown>,
): (<L>(source: EitherSource<L, unknown>) => ObservableEither<L | Refusal, A>) =>
  changeRight('validateRight', decoderOf('validateRight', codec))
