import { push } from '../../src/sources/push.ts'
import { pushLaws, type MakePush } from '../laws/push.laws.ts'
import { itCatches } from '../support/mutants.ts'

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
  'the last caller continues first': ['Q2', lastFirst],
  'ready does not wait': ['Q3', (options) => ({ ...push(options), ready: () => Promise.resolve() })],
  'ready never resolves': [
    'Q3',
    (options) => ({ ...push(options), ready: () => new Promise(() => undefined) }),
  ],
})
