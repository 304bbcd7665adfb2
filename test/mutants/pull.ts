/** What could be wrong with a feed by credit. Most of it is the real one, told or given something wrong. */
import { from, Observable, Subject } from 'rxjs'
import { pull } from '../../src/sources/pull.ts'
import type { MakePull } from '../laws/pull.ts'

type Source<T> = AsyncIterable<T> | Iterable<T>

const iteratorOf = <T>(source: Source<T>): AsyncIterator<T> | Iterator<T> =>
  Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()

/** The source with another `next` or `return`, always answering with promises. */
const changed = <T>(
  source: Source<T>,
  change: (iterator: AsyncIterator<T> | Iterator<T>) => AsyncIterator<T>,
): AsyncIterable<T> => ({ [Symbol.asyncIterator]: () => change(iteratorOf(source)) })

/** Asks for the next one underneath the last one's output. */
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

export const pullBugs: Readonly<Record<string, readonly [law: string, what: string, make: MakePull]>> = {
  floods: ['U1', 'read as fast as it can', (source, pipeline) => from(source).pipe(pipeline)],
  oneMore: [
    'U1',
    'took one more than the window',
    (source, pipeline, options) => pull(source, pipeline, { ...options, window: (options.window ?? 1) + 1 }),
  ],
  repeats: [
    'U2',
    'gave an item twice',
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
  swallows: [
    'U3',
    'ended well although its source failed',
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
  cutsOff: [
    'U3',
    'failed at once with its source, whatever was under way',
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
  countsOutputs: [
    'U3',
    'took an output of many items for one',
    (source, pipeline, options) => pull(source, pipeline, { ...options, creditOf: () => 1 }),
  ],
  holdsOn: [
    'U4',
    'did not let its source go',
    (source, pipeline, options) =>
      pull(
        changed(source, (iterator) => ({ next: async () => iterator.next() })),
        pipeline,
        options,
      ),
  ],
  goesOn: [
    'U4',
    'went on reading after an unsubscribe',
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
  oneByOne: [
    'U5',
    'took one item at a time',
    (source, pipeline, options) => pull(source, pipeline, { ...options, window: 3, creditOf: () => 3 }),
  ],
  nests: ['U6', 'asked for an item within another', nesting],
}
