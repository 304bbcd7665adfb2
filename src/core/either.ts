/**
 * The functions of fp-ts that headrace runs, on the same plain data. Loading them from fp-ts took a process
 * some 50 ms.
 *
 * @module
 */
import type { Either, Left, Right } from 'fp-ts/lib/Either.js'

export type { Either, Left, Right } from 'fp-ts/lib/Either.js'

export const left = <E = never, A = never>(value: E): Either<E, A> => ({ _tag: 'Left', left: value })
export const right = <E = never, A = never>(value: A): Either<E, A> => ({ _tag: 'Right', right: value })
export const isLeft = <E>(each: Either<E, unknown>): each is Left<E> => each._tag === 'Left'
export const isRight = <A>(each: Either<unknown, A>): each is Right<A> => each._tag === 'Right'

export const map =
  <A, B>(change: (value: A) => B) =>
  <E>(each: Either<E, A>): Either<E, B> =>
    isLeft(each) ? each : right(change(each.right))

export const mapLeft =
  <E, F>(change: (value: E) => F) =>
  <A>(each: Either<E, A>): Either<F, A> =>
    isLeft(each) ? left(change(each.left)) : each

export const lefts = <E>(all: ReadonlyArray<Either<E, unknown>>): ReadonlyArray<E> =>
  all.flatMap((each) => (isLeft(each) ? [each.left] : []))

/** The answer of a function, or the fallback if it throws. */
export const valueOr = <A, B>(fallback: B, read: () => A): A | B => {
  try {
    return read()
  } catch {
    return fallback
  }
}

export const constVoid = (): void => undefined
