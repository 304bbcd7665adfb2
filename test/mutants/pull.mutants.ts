import { from, Observable, Subject } from 'rxjs'
import { pull } from '../../src/sources/pull.ts'
import { pullLaws } from '../laws/pull.laws.ts'
import type { MakePull } from '../laws/pull.laws.ts'
import { itCatches } from '../support/mutants.ts'

type Source<T> = AsyncIterable<T> | Iterable<T>

const iteratorOf = <T>(source: Source<T>): AsyncIterator<T> | Iterator<T> =>
  Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()

/** The source with another `next` or `return`, always answering with promises. */
const changed = <T>(
  source: Source<T>,
  change: (iterator: AsyncIterator<T> | Iterator<T>) => AsyncIterator<T>,
): AsyncIterable<T> => ({ [Symbol.asyncIterator]: () => change(iteratorOf(source)) })

/** Asks for the next item inside the output of the last one. */
const nesting: MakePull = (source, pipeline, { window = 1 }) =>
  new Observable((subscriber) => {
    const items = new Subject<never>()
    const iterator = iteratorOf(source)
    let underWay = 0
    let waiting = false
    let over = false
    const receive = (step: IteratorResult<unknown, unknown>): void => {
      waiting = false
      if (step.done === true) {
        over = true
        items.complete()
        return
      }
      underWay++
      // The mutant is generic in name only.
      items.next(step.value as never)
      ask()
    }
    const fail = (error: unknown): void => {
      over = true
      subscriber.error(error)
    }
    const ask = (): void => {
      if (waiting || over || underWay >= window) return
      waiting = true
      try {
        const step = iterator.next()
        if (step instanceof Promise) void step.then(receive, fail)
        // Not a promise, so the result of an iterator.
        else receive(step as IteratorResult<unknown, unknown>)
      } catch (error) {
        fail(error)
      }
    }
    items.pipe(pipeline).subscribe((output) => {
      subscriber.next(output)
      underWay--
      ask()
    })
    ask()
  })

itCatches<MakePull>('pull', pullLaws, {
  'it reads as fast as it can': ['U1', (source, pipeline) => from(source).pipe(pipeline)],
  'the window has one more': [
    'U1',
    (source, pipeline, options) => pull(source, pipeline, { ...options, window: (options.window ?? 1) + 1 }),
  ],
  'it gives an item twice': [
    'U2',
    (source, pipeline, options) => {
      let twice = true
      return pull(
        changed(source, (iterator) => {
          let last: IteratorResult<never> | undefined
          return {
            next: async () => {
              const again = twice && last?.done === false ? last : undefined
              if (again !== undefined) twice = false
              // What came out of the iterator goes on as it is.
              last = again ?? ((await iterator.next()) as IteratorResult<never>)
              return last
            },
          }
        }),
        pipeline,
        options,
      )
    },
  ],
  'it completes when its source fails': [
    'U3',
    (source, pipeline, options) =>
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
  ],
  'it fails before the pipeline has drained': [
    'U3',
    (source, pipeline, options) => {
      const failed = new Subject<never>()
      const watched = changed(source, (iterator) => ({
        next: async () => {
          try {
            return await iterator.next()
          } catch (error) {
            failed.error(error)
            throw error
          }
        },
      }))
      return new Observable((subscriber) => {
        subscriber.add(failed.subscribe(subscriber))
        subscriber.add(pull(watched, pipeline, options).subscribe(subscriber))
      })
    },
  ],
  'an output of several items counts as one': [
    'U3',
    (source, pipeline, options) => pull(source, pipeline, { ...options, creditOf: () => 1 }),
  ],
  'it does not call return': [
    'U4',
    (source, pipeline, options) =>
      pull(
        changed(source, (iterator) => ({ next: async () => iterator.next() })),
        pipeline,
        options,
      ),
  ],
  'it reads on after an unsubscribe': [
    'U4',
    (source, pipeline, options) =>
      new Observable((subscriber) => {
        pull(source, pipeline, options).subscribe({
          next: (output) => {
            subscriber.next(output)
          },
          error: (error: unknown) => {
            subscriber.error(error)
          },
          complete: () => {
            subscriber.complete()
          },
        })
      }),
  ],
  'it takes one item at a time': [
    'U5',
    (source, pipeline, options) => pull(source, pipeline, { ...options, window: 3, creditOf: () => 3 }),
  ],
  'it takes an item inside another': ['U6', nesting],
})
