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

const swapping: MakePush = (options) => {
  const source = push(options)
  let spare: IteratorResult<Item, undefined> | undefined
  return readBy(source, async (inner) => {
    const kept = spare
    spare = undefined
    if (kept !== undefined) return kept
    const first = inner.next()
    if (source.stats().waiting === 0) return first
    const second = inner.next()
    spare = await first
    return second
  })
}

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
  'it holds one item more': ['Q1', (options) => push({ ...options, capacity: (options.capacity ?? 1) + 1 })],
  'it counts no bytes': ['Q1', (options) => ({ ...push({ ...options, maxBytes: 1e9 }) })],
  'it does not report what is lost': ['Q2', ({ onDropped: _, ...options }) => push(options)],
  'it counts an answer twice': [
    'Q3',
    (options) => {
      const source = push(options)
      return { ...source, stats: () => ({ ...source.stats(), accepted: source.stats().accepted * 2 }) }
    },
  ],
  'it swaps neighbours': ['Q4', swapping],
  'it never ends': ['Q5', (options) => ({ ...push(options), end: () => undefined })],
  'the last caller continues first': ['Q6', lastFirst],
  'it drops the newest for the oldest': ['Q7', (options) => push({ ...options, overflow: 'dropNewest' })],
  'ready does not wait': ['Q8', (options) => ({ ...push(options), ready: () => Promise.resolve() })],
  'ready never resolves': [
    'Q8',
    (options) => ({ ...push(options), ready: () => new Promise(() => undefined) }),
  ],
})
