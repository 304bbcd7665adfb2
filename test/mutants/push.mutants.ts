import { push } from '../../src/sources/push.ts'
import { pushLaws, type MakePush } from '../laws/push.laws.ts'
import { itCatches } from '../support/mutants.ts'

/** Callers of `ready` wait in a list of their own. */
const lastFirst: MakePush = (options) => {
  const source = push(options)
  const callers: Array<() => void> = []
  const ready = (): Promise<void> =>
    new Promise((resolve) => {
      callers.push(resolve)
      void source.ready().then(() => callers.pop()?.())
    })
  return { ...source, ready }
}

itCatches<MakePush>('push', pushLaws, {
  'Q1: it counts no bytes': (options) => push({ ...options, maxBytes: 1e9 }),
  'Q1: it does not report what is lost': ({ onDropped: _, ...options }) => push(options),
  'Q2: the last caller continues first': lastFirst,
  'Q3: ready does not wait': (options) => ({ ...push(options), ready: () => Promise.resolve() }),
  'Q3: ready never resolves': (options) => ({ ...push(options), ready: () => new Promise(() => undefined) }),
})
