/**
 * What a person typed, read into a value; or what is wrong with it, in plain sentences, all at once.
 *
 * @module
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'

/** A value, or sentences that each name a flag and the way out. None holds a secret, a header's value or a URL's query. */
export type Checked<A> = Either<ReadonlyArray<string>, A>

type Values<T> = { readonly [K in keyof T]: T[K] extends Checked<infer A> ? A : never }

/** One thing is wrong. */
export const wrong = (sentence: string): Checked<never> => left([sentence])

/** A flag that was not given has the value undefined. */
export const ifGiven = <A>(
  text: string | undefined,
  parse: (text: string) => Checked<A>,
): Checked<A | undefined> => (text === undefined ? right(undefined) : parse(text))

/** All values, or everything that is wrong with any of them. */
export const all = <T extends Readonly<Record<string, Checked<unknown>>>>(checked: T): Checked<Values<T>> => {
  const faults = Object.values(checked).flatMap((each) => (each._tag === 'Left' ? each.left : []))
  if (faults.length > 0) return left(faults)
  const values = Object.entries(checked).flatMap(([key, each]) =>
    each._tag === 'Right' ? [[key, each.right] as const] : [],
  )
  // Each key has its value, for none was left out.
  return right(Object.fromEntries(values) as Values<T>)
}
