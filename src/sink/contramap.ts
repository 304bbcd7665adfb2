import { makeLayer } from './layer.ts'
import type { Sink } from './sink.ts'

/**
 * A sink for other items: each is translated by `f` on its way in. If `f` throws, that delivery ends as a defect.
 *
 * @example
 * import { contramap, sink } from 'headrace'
 *
 * const lines = sink('lines', async (line: string) => console.log(line))
 * const numbers = contramap((n: number) => `number ${n}`)(lines)
 */
export const contramap =
  <A, B>(f: (item: B) => A) =>
  (sink: Sink<A>): Sink<B> =>
    makeLayer<A, B>(sink, (subscribe) => (item, attempt, observer) => subscribe(f(item), attempt, observer))
