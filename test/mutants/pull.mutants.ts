import { Observable } from 'rxjs'
import { pull } from '../../src/sources/pull.ts'
import { pullLaws, type MakePull } from '../laws/pull.laws.ts'
import { itCatches } from '../support/mutants.ts'

type Source<T> = AsyncIterable<T> | Iterable<T>
type Next<T> = () => Promise<IteratorResult<T>>

/** The source with another `next`, and without `return`. */
const changed = <T>(source: Source<T>, change = (next: Next<T>) => next()): AsyncIterable<T> => {
  const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
  return { [Symbol.asyncIterator]: () => ({ next: () => change(async () => iterator.next()) }) }
}

itCatches<MakePull>('pull', pullLaws, {
  'U1: the window has one more': (source, pipeline, options) =>
    pull(source, pipeline, { ...options, window: (options.window ?? 1) + 1 }),
  'U3: it completes when its source fails': (source, pipeline, options) => {
    const whole = changed(source, (next) => next().catch(() => ({ done: true, value: undefined }) as const))
    return pull(whole, pipeline, options)
  },
  'U4: it does not call return': (source, pipeline, options) => pull(changed(source), pipeline, options),
  'U4: it reads on after an unsubscribe': (source, pipeline, options) =>
    new Observable((subscriber) => {
      pull(source, pipeline, options).subscribe({
        next: (output) => subscriber.next(output),
        error: (error: unknown) => subscriber.error(error),
        complete: () => subscriber.complete(),
      })
    }),
  'U5: it takes one item at a time': (source, pipeline, options) =>
    pull(source, pipeline, { ...options, window: 3, creditOf: () => 3 }),
})
