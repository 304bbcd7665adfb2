import { expect, test } from 'vitest'
import { ConfigError } from '../../src/destination/index.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import { files, pushed, pushing } from '../support/brokenVersions.ts'
import { checkLaws, outboxLaws, registerLaws, type OutboxLawOptions } from '../../src/testing/laws/index.ts'

const laws = outboxLaws(({ clock, bounds }) => memoryOutbox({ ...bounds, clock }))
registerLaws({ test }, laws)

registerLaws({ test: (name, run) => test(`on a scripted disk: ${name}`, run) }, outboxLaws(files()))

registerLaws({ test: (name, run) => test(`pushed by a server: ${name}`, run) }, outboxLaws(pushing(), pushed))

test('capabilities choose laws, and a wrong one is found', async () => {
  const lawsOf = (options: OutboxLawOptions) => outboxLaws(pushing(), { ...pushed, ...options })
  const all = outboxLaws(pushing())
  const without = all.filter(({ id }) => !lawsOf({}).some((each) => each.id === id)).map(({ id }) => id)
  expect(without).toEqual(['outbox/order', 'outbox/wakes'])
  const breaks = (id: string, options: OutboxLawOptions) =>
    expect(checkLaws(lawsOf(options), { only: id, seed: 3 })).rejects.toThrow(`${id} is broken`)
  await breaks('outbox/order', { capabilities: { exactBytes: false } })
  await breaks('outbox/stats', { capabilities: { order: 'none' } })
  // Nothing is pushed.
  await breaks('outbox/remembers', { settle: () => Promise.resolve() })
  const wrong = { order: 'never' } as unknown as { readonly order: 'none' }
  expect(() => lawsOf({ capabilities: wrong })).toThrow(ConfigError)
})
