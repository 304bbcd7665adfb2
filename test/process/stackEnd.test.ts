/** A host whose recursion overflows, and that records the error in each frame on the way out. */
import { expect, it } from 'vitest'
import { createClient } from '../../src/client/createClient.ts'
import { sink } from '../../src/sink/fromFunction.ts'
import { openOver, track } from '../destination/virtual.ts'

const overflow = (record: () => void): void => {
  try {
    overflow(record)
  } catch (error) {
    record()
    throw error
  }
}

const parts = {
  client: () => {
    const made = createClient('key', {
      sink: sink('s', async () => 'ok'),
      ...{ size: 1, concurrency: 4, logger: false, drainOnExit: false },
    })
    return { ...made, rest: made.flush, call: () => made.track({ userId: 'u', event: 'Overflow' }) }
  },
  destination: () => {
    const made = openOver([sink('s', async () => 'ok')], { logger: false })
    const call = (): unknown => made.send({ ...track(''), messageId: `m${String(Math.random())}` })
    return { ...made, rest: made.idle, call }
  },
} as const

it.each(['client', 'destination'] as const)('a %s lives on, and ends what it accepted', async (kind) => {
  const { call, rest, stats, close, send } = parts[kind]()
  const rejected: unknown[] = []
  let frames = 0
  // Node prints each promise that it cannot make there.
  for (let round = 0; round < (kind === 'client' ? 6 : 1); round++) {
    frames = 0
    try {
      overflow(() => {
        if (frames++ > 2_000) return
        const answer = call()
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
