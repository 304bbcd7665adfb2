/** `headrace/sinks/memory`: a sink that holds its items. @module */
import { left, right } from '../core/either.ts'
import { refused } from '../core/failure.ts'
import { checkOptions, strict, text, wholeNumber, withDefault } from '../core/options.ts'
import { answer, makeSink } from './layer.ts'
import type { Sink } from './sink.ts'

/** The name and the bound of a memory sink. */
export interface MemoryOptions {
  /** Default `memory`. */
  readonly name?: string
  /** The most items it holds; those beyond are refused, with reason `noRoom`. Default 100,000. */
  readonly maxCount?: number
}

const memoryOptions = strict({
  name: withDefault(text, 'memory'),
  maxCount: withDefault(wholeNumber('items', 1), 100_000),
})

/** A sink that holds its items. */
export interface MemorySink<A> extends Sink<A> {
  /** The delivered items, in the order of delivery: a copy. */
  readonly items: () => ReadonlyArray<A>
}

/**
 * Delivers into an array: to try a pipeline, and to test one. It delivers at once, when subscribed.
 *
 * @throws ConfigError if `maxCount` is not a whole number of at least 1.
 *
 * @example
 * import { memory } from 'headrace/sinks/memory'
 * import { onlyAttempt } from 'headrace'
 *
 * const sink = memory<string>()
 * sink.deliver('a', onlyAttempt).subscribe()
 * console.log(sink.items()) // => [ 'a' ]
 */
export const memory = <A>(options: MemoryOptions = {}): MemorySink<A> => {
  const { name, maxCount } = checkOptions('options of memory', memoryOptions, options)
  const items: A[] = []
  const delivered = right({ sink: name })
  const full = left(refused('noRoom', { detail: `it holds ${String(maxCount)} items at most` }))

  const sink = makeSink<A>(
    name,
    (item, _attempt, observer) => {
      const fits = items.length < maxCount
      if (fits) items.push(item)
      return answer(observer, fits ? delivered : full)
    },
    () => Promise.resolve(),
  )
  return { ...sink, items: () => items.slice() }
}
