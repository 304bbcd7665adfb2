import { expect, test } from 'vitest'
import { ConfigError } from '../../src/destination/index.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import { files, pushed, pushing } from '../support/brokenVersions.ts'
import { outboxLaws, registerLaws, reportOf, type OutboxLawOptions } from '../../src/testing/laws/index.ts'

const laws = outboxLaws(({ clock, bounds }) => memoryOutbox({ ...bounds, clock }))
registerLaws({ test }, laws)

registerLaws({ test: (name, run) => test(`on a scripted disk: ${name}`, run) }, outboxLaws(files()))

registerLaws({ test: (name, run) => test(`pushed by a server: ${name}`, run) }, outboxLaws(pushing(), pushed))

test('capabilities choose laws, and a wrong one is found', async () => {
  const lawsOf = (options: OutboxLawOptions) => outboxLaws(pushing(), { ...pushed, ...options })
  const all = outboxLaws(pushing())
  const without = all.filter(({ id }) => !lawsOf({}).some((each) => each.id === id)).map(({ id }) => id)
  expect(without).toEqual(['outbox/order', 'outbox/wakes'])
  const broken = async (options: OutboxLawOptions) => {
    const results = await Promise.all(lawsOf(options).map((law) => reportOf(law, { runs: 100, seed: 3 })))
    return results.flatMap(({ law, result }) => (result === 'kept' ? [] : `${law} ${result}`))
  }
  expect(await broken({ capabilities: { exactBytes: false } })).toContain('outbox/order broken')
  expect(await broken({ capabilities: { order: 'none' } })).toContain('outbox/stats broken')
  // Nothing is pushed.
  expect(await broken({ settle: () => Promise.resolve() })).toContain('outbox/remembers broken')
  const wrong = { order: 'never' } as unknown as { readonly order: 'none' }
  expect(() => lawsOf({ capabilities: wrong })).toThrow(ConfigError)
})
