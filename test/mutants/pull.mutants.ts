import { Observable } from 'rxjs'
import { pull } from '../../src/sources/pull.ts'
import { pullLaws, type MakePull } from '../laws/pull.laws.ts'
import { itCatches } from '../support/mutants.ts'

type Source<T> = AsyncIterable<T> | Iterable<T>

const iteratorOf = <T>(source: Source<T>): AsyncIterator<T> | Iterator<T> =>
  Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()

/** The source with another `next` or `return`, always answering with promises. */
const changed = <T>(
  source: Source<T>,
  change: (iterator: AsyncIterator<T> | Iterator<T>) => AsyncIterator<T>,
): AsyncIterable<T> => ({ [Symbol.asyncIterator]: () => change(iteratorOf(source)) })

itCatches<MakePull>('pull', pullLaws, {
  'U1: the window has one more': (source, pipeline, options) =>
    pull(source, pipeline, { ...options, window: (options.window ?? 1) + 1 }),
  'U3: it completes when its source fails': (source, pipeline, options) =>
    pull(
      changed(source, (iterator) => ({
        next: async () => {
          try {
            return await iterator.next()
          } catch {
            return { done: true, value: undefined }
          }
        },
      })),
      pipeline,
      options,
    ),
  'U4: it does not call return': (source, pipeline, options) =>
    pull(
      changed(source, (iterator) => ({ next: async () => iterator.next() })),
      pipeline,
      options,
    ),
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
