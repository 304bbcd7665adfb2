/**
 * Operators for the right side of a stream of `Either`. Lefts are items that have ended, and pass. A function
 * that throws, or whose promise rejects, costs its item and nothing else: that item comes out as `Threw`. So
 * does an answer that is for another operator.
 */
import { concatMap, map, Observable, tap, type OperatorFunction } from 'rxjs'
import { isLeft, left, right, type Either } from '../core/either.ts'
import { answerOn, carry, divided, withAnswer } from '../core/carry.ts'
import { systemClock } from '../core/clock.ts'
import { drainLoop } from '../core/drainLoop.ts'
import { kindOf } from '../core/json.ts'
import { checkOptions, func, strict, wholeNumber, withDefault } from '../core/options.ts'
import { assertEither, isEither, notEither, notPromise, skipped } from '../core/outcome.ts'
import type { EitherSource, ObservableEither, Skipped } from '../core/outcome.ts'
import { queue } from '../core/queue.ts'
import { UnfitAnswer, threw, type Threw } from '../core/refusal.ts'
import { publishAsClosed } from '../log/listeners.ts'

/** Takes a stream of `Either`, and gives another one. Lefts of the source pass. @inline */
type EitherOperator<A, B, More> = <L>(source: EitherSource<L, A>) => ObservableEither<L | More, B>

const assertFunction = (operator: string, given: unknown): void => {
  checkOptions(`argument of ${operator}`, func(), given)
}

/** Changes each right. What `change` throws ends the stream. */
export const changeRight =
  <A, B, More>(operator: string, change: (item: A) => Either<More, B>): EitherOperator<A, B, More> =>
  (source) =>
    source.pipe(
      map((each) => {
        assertEither(operator, each)
        return each._tag === 'Left' ? each : carry(each, change(each.right))
      }),
    )

/** `given` is the function of the host, which `change` calls. */
const overRight = <A, B, More>(
  operator: string,
  given: unknown,
  change: (item: A) => Either<More, B>,
): EitherOperator<A, B, More | Threw> => {
  assertFunction(operator, given)
  return changeRight<A, B, More | Threw>(operator, (item) => {
    try {
      return change(item)
    } catch (error) {
      return left(threw(item, operator, error))
    }
  })
}

/**
 * Makes a stream of plain values a stream of `Either`, with every value on the right side.
 *
 *     in:   a    b
 *     out:  R(a) R(b)
 *
 * @example
 * import { deliver, lift } from 'headrace'
 * import { memory } from 'headrace/sinks/memory'
 * import { of } from 'rxjs'
 *
 * of('a').pipe(lift(), deliver(memory<string>())).subscribe(({ _tag }) => console.log(_tag)) // => Delivered
 */
export const lift = <A>(): OperatorFunction<A, Either<never, A>> => map((item) => right(item))

/**
 * Changes each item.
 *
 *     in:   R(a)    L(x) R(b)       f throws for b
 *     out:  R(f(a)) L(x) L(Threw)
 *
 * @example
 * import { lift, mapRight } from 'headrace'
 * import { of } from 'rxjs'
 *
 * of(1, 2).pipe(lift(), mapRight((n) => n * 10)).subscribe((each) => console.log(each))
 * // => { _tag: 'Right', right: 10 }
 * // => { _tag: 'Right', right: 20 }
 */
export const mapRight = <A, B>(change: (item: A) => B): EitherOperator<A, B, Threw> =>
  overRight('mapRight', change, (item) => right(notEither(notPromise(change(item)))))

/**
 * Changes each item, or ends it: the function answers an `Either`.
 *
 *     in:   R(a)    L(x) R(b)       f answers right(a') for a, left(y) for b
 *     out:  R(a')   L(x) L(y)
 *
 * For a function that is asynchronous too let `enrich` answer `{ result }`, and take it out with
 * `flatMapRight(({ result }) => result)`.
 *
 * @example
 * import { flatMapRight, lift } from 'headrace'
 * import { left, right } from 'fp-ts/lib/Either.js'
 * import { of } from 'rxjs'
 *
 * const half = (n: number) => (n % 2 === 0 ? right(n / 2) : left(`${n} is odd`))
 * of(4, 5).pipe(lift(), flatMapRight(half)).subscribe((each) => console.log(each))
 * // => { _tag: 'Right', right: 2 }
 * // => { _tag: 'Left', left: '5 is odd' }
 */
export const flatMapRight = <A, B, L>(change: (item: A) => Either<L, B>): EitherOperator<A, B, L | Threw> =>
  overRight('flatMapRight', change, (item) => {
    const answer = notPromise(change(item))
    if (isEither(answer)) return answer
    throw new UnfitAnswer(`answered ${kindOf(answer)}: answer left(…) or right(…)`)
  })

/** The type of `filterRight`. */
export interface FilterRight {
  <A, B extends A>(isWanted: (item: A) => item is B): EitherOperator<A, B, Skipped<A> | Threw>
  <A>(isWanted: (item: A) => boolean): EitherOperator<A, A, Skipped<A> | Threw>
}

/**
 * Passes the items for which `isWanted` is true. Every other item comes out as `Skipped`, so that none
 * disappears.
 *
 *     in:   R(1)          L(x) R(2)
 *     out:  L(Skipped(1)) L(x) R(2)
 *
 * @function
 * @example
 * import { filterRight, lift } from 'headrace'
 * import { of } from 'rxjs'
 *
 * of(1, 2).pipe(lift(), filterRight((n) => n % 2 === 0)).subscribe((each) => console.log(each))
 * // => { _tag: 'Left', left: { _tag: 'Skipped', item: 1 } }
 * // => { _tag: 'Right', right: 2 }
 */
export const filterRight: FilterRight = <A>(isWanted: (item: A) => boolean) =>
  overRight<A, A, Skipped<A>>('filterRight', isWanted, (item) =>
    notPromise(isWanted(item)) ? right(item) : left(skipped(item)),
  )

/**
 * Calls a function with each item, and passes the item.
 *
 *     in:   R(a) L(x) R(b)       f throws for b
 *     out:  R(a) L(x) L(Threw)
 *
 * @example
 * import { lift, tapRight } from 'headrace'
 * import { of } from 'rxjs'
 *
 * of('a').pipe(lift(), tapRight((item) => console.log(item))).subscribe() // => a
 */
export const tapRight = <A>(look: (item: A) => unknown): EitherOperator<A, A, Threw> =>
  overRight('tapRight', look, (item) => {
    notPromise(look(item))
    return right(item)
  })

/**
 * Makes several items of each: the function answers an array. An item without parts comes out as `Skipped`.
 *
 *     in:   R(a)        L(x) R(b)          f answers [a1, a2] for a, [] for b
 *     out:  R(a1) R(a2) L(x) L(Skipped(b))
 *
 * @example
 * import { lift, splitRight } from 'headrace'
 * import { of } from 'rxjs'
 *
 * of('a,b').pipe(lift(), splitRight((line) => line.split(','))).subscribe((each) => console.log(each))
 * // => { _tag: 'Right', right: 'a' }
 * // => { _tag: 'Right', right: 'b' }
 */
export const splitRight = <A, B>(
  split: (item: A) => ReadonlyArray<B>,
): EitherOperator<A, B, Skipped<A> | Threw> => {
  const partsOf = overRight<A, ReadonlyArray<B>, Skipped<A>>('splitRight', split, (item) => {
    const parts = notPromise(split(item))
    if (!Array.isArray(parts)) throw new UnfitAnswer(`answered ${kindOf(parts)}: answer an array`)
    // A copy has no holes, and a getter that throws costs its item only.
    return parts.length > 0 ? right(Array.from<B>(parts)) : left(skipped(item))
  })
  return (source) =>
    source.pipe(
      partsOf,
      concatMap((each) => {
        if (each._tag === 'Left') return [each]
        const answer = answerOn(each)
        const own = answer && divided(answer, each.right.length)
        return each.right.map((part) => (own === undefined ? right(part) : withAnswer(right(part), own)))
      }),
    )
}

/** Options of `enrich`. */
export interface EnrichOptions {
  /** Items whose function has been called and which have not come out yet. Default 16. */
  readonly concurrency?: number
}

const enrichOptions = strict({ concurrency: withDefault(wholeNumber('items', 1), 16) })

/**
 * Changes each item by an asynchronous function, several at a time, and keeps the order. `signal` is aborted
 * when the stream is unsubscribed; items that it holds then are published on `headrace:notAccepted`, as
 * `Closed`. Items above `concurrency` wait in memory: feed the pipeline with `pull` to bound them.
 *
 *     in:   R(a) R(b) L(x)            b is ready before a
 *     out:            R(a') R(b') L(x)
 *
 * @throws ConfigError if `concurrency` is not a whole number of at least 1.
 *
 * @example
 * import { enrich, lift } from 'headrace'
 * import { of } from 'rxjs'
 *
 * const nameOf = async (id: string) => `name of ${id}`
 * of('u1').pipe(lift(), enrich(async (id) => ({ id, name: await nameOf(id) }))).subscribe(console.log)
 */
export const enrich = <A, B>(
  change: (item: A, context: { readonly signal: AbortSignal }) => PromiseLike<B>,
  options: EnrichOptions = {},
): EitherOperator<A, B, Threw> => {
  assertFunction('enrich', change)
  const { concurrency } = checkOptions('options of enrich', enrichOptions, options)
  return <L>(source: EitherSource<L, A>) =>
    new Observable<Either<L | Threw, B>>((subscriber) => {
      const controller = new AbortController()
      const waiting = queue<Either<L, A>>()
      /** In the order of the source; its first one comes out next. */
      const started = queue<{ each: Either<L, A>; result: Either<L | Threw, B> | undefined }>()
      let end: (() => void) | undefined

      const run = async (each: Either<L, A>): Promise<Either<L | Threw, B>> => {
        if (each._tag === 'Left') return each
        try {
          return carry(each, right(notEither(await change(each.right, { signal: controller.signal }))))
        } catch (error) {
          return carry(each, left(threw(each.right, 'enrich', error)))
        }
      }
      const startNext = (): void => {
        while (!subscriber.closed && started.size() < concurrency) {
          const each = waiting.shift()
          if (each === undefined) return
          const slot: ReturnType<typeof started.peek> = { each, result: undefined }
          started.push(slot)
          void run(each).then((result) => {
            slot.result = result
            emit()
          })
        }
      }
      const emit = drainLoop(() => {
        for (let next = started.peek(); next?.result !== undefined; next = started.peek()) {
          started.shift()
          subscriber.next(next.result)
          startNext()
        }
        if (started.size() === 0) end?.()
      })
      const endWith = (how: () => void): void => {
        end = how
        emit()
      }

      subscriber.add(() => {
        controller.abort()
        const held = [...started.drain().map(({ each }) => each), ...waiting.drain()]
        publishAsClosed('enrich', systemClock)(held.flatMap((each) => (isLeft(each) ? [] : [each.right])))
      })
      subscriber.add(
        source.pipe(tap((each) => assertEither('enrich', each))).subscribe({
          next: (each) => {
            waiting.push(each)
            startNext()
          },
          error: (error: unknown) => endWith(() => subscriber.error(error)),
          complete: () => endWith(() => subscriber.complete()),
        }),
      )
    })
}
