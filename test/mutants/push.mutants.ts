import { push, type Push } from '../../src/sources/push.ts'
import { pushLaws, type Item, type MakePush } from '../laws/push.laws.ts'
import { itCatches } from '../support/mutants.ts'

/** The real source with another reader. */
const readBy = (
  source: Push<Item>,
  next: (inner: AsyncIterator<Item, undefined>) => Promise<IteratorResult<Item, undefined>>,
): Push<Item> => ({
  ...source,
  [Symbol.asyncIterator]: () => {
    const inner = source[Symbol.asyncIterator]()
    return { next: () => next(inner), return: () => inner.return?.() ?? next(inner) }
  },
})

/** Callers of `ready` wait in a list of their own. */
const lastFirst: MakePush = (options) => {
  const source = push(options)
  const callers: Array<() => void> = []
  return {
    ...source,
    ready: () =>
      new Promise((resolve) => {
        callers.push(resolve)
        void source.ready().then(() => callers.pop()?.())
      }),
  }
}

itCatches<MakePush>('push', pushLaws, {
  'it counts no bytes': ['Q1', (options) => push({ ...options, maxBytes: 1e9 })],
  'it does not report what is lost': ['Q1', ({ onDropped: _, ...options }) => push(options)],
  'its reader skips items': [
    'Q1',
    (options) => readBy(push(options), (inner) => inner.next().then(() => inner.next())),
  ],
  'it never ends': ['Q1', (options) => ({ ...push(options), end: () => undefined })],
  'it drops the newest for the oldest': ['Q1', (options) => push({ ...options, overflow: 'dropNewest' })],
  'the last caller continues first': ['Q2', lastFirst],
  'ready does not wait': ['Q3', (options) => ({ ...push(options), ready: () => Promise.resolve() })],
  'ready never resolves': [
    'Q3',
    (options) => ({ ...push(options), ready: () => new Promise(() => undefined) }),
  ],
})
