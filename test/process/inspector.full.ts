import { left } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { retryable } from '../../src/core/failure.ts'
import { recorder } from '../../src/inspector/recorder.ts'
import { livingBytes } from '../support/check.ts'

it('takes at most 2 MB for 500 histories of many steps, each with a reason of its own', async () => {
  const memory = recorder(500, 'first')
  const told = { at: 0, from: 'orders', startedAt: 0, number: 1, duration: 1.5 }
  const play = (count: number): void => {
    for (let n = 0; n < count; n++) {
      const item = {
        id: `event-${n}-${Math.random()}`,
        text: `{"type":"track","x":"${'x'.repeat(20_000)}${n}"}`,
        byteLength: 20_000,
      }
      memory.onEvent({ ...told, at: n * 20, _tag: 'Accepted', item })
      for (let m = 0; m < 30; m++) {
        const failure = retryable('network', { detail: `${n} ${m} ${'reason '.repeat(100)}` })
        memory.onEvent({ ...told, _tag: 'Attempted', item, sink: `sink${m}`, result: left(failure) })
      }
    }
  }
  play(2)
  const before = await livingBytes()
  play(2_000)
  expect(memory.histories()).toBe(500)
  const grown = (await livingBytes()) - before
  console.log(`500 histories: ${(grown / 1e6).toFixed(2)} MB`)
  expect(grown).toBeLessThan(2_000_000)
})
