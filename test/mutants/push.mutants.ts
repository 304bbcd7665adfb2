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
  'it counts no bytes': ['Q1', (options) => push({ ...options, maxBytes: 1e9 })],
  'it does not report what is lost': ['Q1', ({ onDropped: _, ...options }) => push(options)],
  'it swaps neighbours': ['Q1', swapping],
  'it never ends': ['Q1', (options) => ({ ...push(options), end: () => undefined })],
  'it drops the newest for the oldest': ['Q1', (options) => push({ ...options, overflow: 'dropNewest' })],
  'the last caller continues first': ['Q2', lastFirst],
  'ready does not wait': ['Q3', (options) => ({ ...push(options), ready: () => Promise.resolve() })],
  'ready never resolves': [
    'Q3',
    (options) => ({ ...push(options), ready: () => new Promise(() => undefined) }),
  ],
})
