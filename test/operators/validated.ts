/** What `validate` makes of inputs. */
import type * as t from 'io-ts'
import { from, lastValueFrom, toArray } from 'rxjs'
import type { Observable } from 'rxjs'
import type { Either } from 'fp-ts/lib/Either.js'
import { validate } from '../../src/operators/validate.ts'
import type { Refusal } from '../../src/core/refusal.ts'

/** All that comes out. */
export const all = <A>(rail: Observable<A>): Promise<ReadonlyArray<A>> =>
  lastValueFrom(rail.pipe(toArray()), { defaultValue: [] })

/** What comes out for one input. */
export const one = async <A>(codec: t.Type<A, unknown>, input: unknown): Promise<Either<Refusal, A>> => {
  const [result] = await all(from([input]).pipe(validate(codec)))
  if (result === undefined) throw new Error('nothing came out')
  return result
}
