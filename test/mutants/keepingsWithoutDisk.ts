/** Keepings that do wrong while the disk takes nothing, or when it takes something again. */
import { keeping } from '../../src/client/keeping/keeping.ts'
import { brings, buries, hands, isOfMemory, over, writes } from './keepingMutant.ts'
import type { KeepingMutant } from './keepingMutant.ts'

export const keepingsWithoutDisk: Readonly<Record<string, KeepingMutant>> = {
  'hands out nothing that is not on the disk': {
    breaks: 'moves',
    make: hands((taken) => taken.filter((entry) => !isOfMemory(entry))),
  },
  'hands out once more what it handed out': {
    breaks: 'handsOnce',
    make: hands((taken) => [...taken, ...taken.filter(isOfMemory)]),
  },
  'hands out the newest first': { breaks: 'line', make: hands((taken) => taken.toReversed()) },
  'brings what is out to the disk as one that waits': {
    breaks: 'handsOnce',
    make: brings((each) => ({ ...each, due: each.due ?? 0 })),
  },
  'brings what is out to the disk as a new one': {
    breaks: 'handsOnce',
    make: writes((what) => ({
      ...what,
      worked: [],
      items: [...what.worked.map(({ entry }) => entry.item), ...what.items],
    })),
  },
  'brings nothing to the disk that was handed out': {
    breaks: 'notPersisted',
    make: writes((what) => ({ ...what, worked: [] })),
  },
  'gives another id to what it brings to the disk': {
    breaks: 'remembers',
    make: brings((each) => ({ ...each, stored: () => undefined })),
  },
  'forgets the tries of what it brings to the disk': {
    breaks: 'remembers',
    make: brings((each) => ({
      ...each,
      entry: { ...each.entry, firstAttemptAt: undefined, progress: undefined },
    })),
  },
  'forgets when what it brings to the disk is due': {
    breaks: 'remembers',
    make: brings((each) => ({ ...each, due: each.due && 0 })),
  },
  'leaves the parts of what ended without the disk': {
    breaks: 'ends',
    make: buries((remains) => remains.map((each) => ({ ...each, struck: [] }))),
  },
  'strikes once, and not again when that failed': {
    breaks: 'ends',
    make: over(({ bury }) => ({ bury: (remains) => bury(remains).catch(() => undefined) })),
  },
  'lays no letter for what died without the disk': {
    breaks: 'letters',
    make: buries((remains) => remains.map((each) => ({ ...each, letter: undefined }))),
  },
  'lays a letter once, and not again when that failed': {
    breaks: 'letters',
    make: over(({ bury }) => ({ bury: (remains) => bury(remains).catch(() => undefined) })),
  },
  'lays two letters for one': {
    breaks: 'letters',
    make: buries((remains) => remains.flatMap((each) => [each, { ...each, struck: [] }])),
  },
  'says nothing of what ended while the disk takes nothing': {
    breaks: 'answers',
    make: (options) => {
      let isDown = false
      const { whenKept, ...kept } = keeping({
        ...options,
        defect: () => {
          isDown = true
        },
        kept: () => {
          isDown = false
        },
      })
      return {
        ...kept,
        whenKept: async () => {
          const answer = await whenKept()
          return isDown ? new Promise<never>(() => undefined) : answer
        },
      }
    },
  },
  'counts what is out as if it were on the disk': {
    breaks: 'notPersisted',
    make: (options) => {
      const out = new Map<string, number>()
      const kept = keeping(options)
      const { take, end } = kept.outbox
      return {
        ...kept,
        outbox: {
          ...kept.outbox,
          take: async (...asked) => {
            const taken = await take(...asked)
            for (const { id, item } of taken.filter(isOfMemory)) out.set(id, item.members.length)
            return taken
          },
          end: (entry, outcome) => {
            out.delete(entry.id)
            return end(entry, outcome)
          },
        },
        notPersisted: () =>
          Math.max(
            0,
            [...out.values()].reduce((sum, count) => sum - count, kept.notPersisted()),
          ),
      }
    },
  },
  'does not hand back what is out': {
    breaks: 'handsBack',
    make: (options) => {
      const out = new Set<string>()
      const kept = keeping(options)
      return {
        ...kept,
        outbox: {
          ...kept.outbox,
          take: async (...asked) => {
            const taken = await kept.outbox.take(...asked)
            for (const { item } of taken.filter(isOfMemory)) out.add(item.id)
            return taken
          },
        },
        giveUp: () => kept.giveUp().filter(({ id }) => !out.has(id)),
      }
    },
  },
}
