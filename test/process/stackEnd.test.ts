/** A host whose recursion overflows, and that records the error in each frame on the way out. */
import { expect, it } from 'vitest'
import { sink } from '../../src/sink/fromFunction.ts'
import { track } from '../destination/virtual.ts'
import { parts } from '../support/parts.ts'

const overflow = (record: () => void): void => {
  try {
    overflow(record)
  } catch (error) {
    record()
    throw error
  }
}

it.each(['client', 'destination'] as const)('a %s lives on, and ends what it accepted', async (kind) => {
  const options = { target: () => sink('s', async () => 'ok'), ended: () => undefined }
  const { rest, stats, close, send } = parts[kind]({ ...options, client: { concurrency: 4 } })
  // A client makes its ids.
  const ids = () => (kind === 'client' ? {} : { messageId: `m${String(Math.random())}` })
  const rejected: unknown[] = []
  let frames = 0
  // Node prints each promise that it cannot make there.
  for (let round = 0; round < (kind === 'client' ? 6 : 1); round++) {
    frames = 0
    try {
      overflow(() => {
        if (frames++ > 2_000) return
        const answer = send({ type: 'track', userId: 'u', event: 'Overflow', ...ids() } as never)
        if (answer instanceof Promise) answer.catch((error: unknown) => rejected.push(error))
      })
    } catch {
      // The host's own error.
    }
    await new Promise(setImmediate)
  }
  expect(frames).toBeGreaterThan(100)
  expect((await send(track('last') as never))._tag).toBe('Right')
  await rest()
  const { accepted, delivered, waiting } = stats()
  expect(accepted).toBeGreaterThan(100)
  expect([delivered, waiting]).toEqual([accepted, 0])
  expect(await close({ timeout: 1_000 })).toMatchObject({ abandoned: [] })
  // At the very end nothing can be called, and a promise of Node's own rejects.
  expect(rejected.length).toBeLessThan(60)
})
