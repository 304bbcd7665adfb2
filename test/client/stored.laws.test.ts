import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { full } from '../../src/core/refusal.ts'
import { nothingReached, play } from './stored/play.ts'
import type { Spoil } from './stored/play.ts'
import { world } from './stored/worlds.ts'
import type { World } from './stored/worlds.ts'

const mutants: Readonly<Record<string, Spoil>> = {
  'says at once that all is kept': (client) => ({ ...client, persisted: () => Promise.resolve(true) }),
  'says at once that nothing is kept': (client) => ({ ...client, persisted: () => Promise.resolve(false) }),
  'never says that anything is kept': (client) => ({
    ...client,
    persisted: () => new Promise(() => undefined),
  }),
  'says that a crash takes nothing': (client) => ({
    ...client,
    stats: () => ({ ...client.stats(), notPersisted: 0 }),
  }),
  'does not count what an earlier life left': (client) => {
    const { waiting: earlier } = client.stats()
    return {
      ...client,
      stats: () => ({ ...client.stats(), accepted: client.stats().accepted - earlier }),
    }
  },
  'says yes to one that it has no room for': (client) => ({
    ...client,
    track: (call) => {
      const answer = client.track(call)
      return answer._tag === 'Left' ? right({ id: call.messageId ?? '' }) : answer
    },
  }),
  'is full while there is room': (client) => ({
    ...client,
    track: (call) => (client.stats().waiting === 2 ? left(full(call, 'count', 2)) : client.track(call)),
  }),
  'hands back more than it tells': (client) => ({
    ...client,
    close: async (options) => {
      const { totals, abandoned } = await client.close(options)
      return { totals: { ...totals, waiting: totals.waiting + abandoned.length }, abandoned }
    },
  }),
}

describe('a client with a folder', () => {
  it('keeps what it promises in 500 worlds, crash, close and a disk that fails among them', async () => {
    const reached = nothingReached()
    await fc.assert(
      fc.asyncProperty(world, (given) => play(given, reached)),
      { numRuns: 500 },
    )
    const { worlds, ...others } = reached
    expect(worlds).toBeGreaterThanOrEqual(500)
    for (const [name, count] of Object.entries(others)) expect(count, name).toBeGreaterThan(3)
  })

  it.each(Object.entries(mutants))('one that %s is caught', async (_, spoil) => {
    const law = fc.asyncProperty(world, (given) => play(given, nothingReached(), spoil))
    const { failed } = await fc.check(law, { numRuns: 300, endOnFailure: true })
    expect(failed).toBe(true)
  })

  it('goes on by itself when the disk is well again, though nothing more is sent', async () => {
    const given: World = {
      size: 1,
      flushAfter: Infinity,
      concurrency: 1,
      isKeyed: false,
      overflow: 'error',
      maxCount: 10,
      folderCount: 10,
      folderBytes: 10_000,
      answers: [{ says: 'yes', after: undefined }],
      commands: [
        { do: 'send', users: ['a'] },
        { do: 'disk', isDown: true },
        { do: 'pass', ms: 300 },
        { do: 'send', users: ['a'] },
      ],
    }
    await play(given, nothingReached())
  })
})
