/** Keepings that are wrong on purpose. Each must break the law that it names. */
import { batchOf } from '../../src/client/keeping/BatchRecord.ts'
import { keeping } from '../../src/client/keeping/keeping.ts'
import type { MessageBatch } from '../../src/client/Message.ts'
import type { Change } from '../../src/outbox/lmdb/entering/Drafts.ts'
import { after, given, nothing, over, untidy, writes } from './keepingMutant.ts'
import type { KeepingMutant } from './keepingMutant.ts'
import { keepingsWithoutDisk } from './keepingsWithoutDisk.ts'

export const keepingMutants: Readonly<Record<string, KeepingMutant>> = {
  'says at once that all is kept': {
    breaks: 'kept',
    make: after(() => ({ whenKept: () => Promise.resolve(true) })),
  },
  'says that what failed is kept': {
    breaks: 'kept',
    make: over(({ write }) => ({
      write: async (change) => {
        await write(change).catch(() => undefined)
      },
    })),
  },
  'never says that anything is kept': {
    breaks: 'answers',
    make: after(() => ({ whenKept: () => new Promise<never>(() => undefined) })),
  },
  'says no when the disk failed once': {
    breaks: 'answers',
    make: (options) => {
      let hasFailed = false
      const kept = keeping({
        ...options,
        defect: () => {
          hasFailed = true
        },
      })
      return { ...kept, whenKept: async () => (await kept.whenKept()) && !hasFailed }
    },
  },
  'leaves the parts of a batch where they are': {
    breaks: 'once',
    make: writes((what) => ({ ...what, struck: [] })),
  },
  'strikes only the first part of a batch': {
    breaks: 'once',
    make: writes((what) => ({ ...what, struck: what.struck.slice(0, 1) })),
  },
  'strikes the parts of a batch before it writes the batch': {
    breaks: 'stays',
    make: over(({ write }) => ({
      write: async (change) => {
        let rest: Change<MessageBatch> | undefined
        await write(() => {
          const { struck, ...others } = change()
          rest = { ...others, struck: [] }
          return { ...nothing, struck }
        })
        await new Promise((resolve) => setImmediate(resolve))
        await write(() => rest ?? nothing)
      },
    })),
  },
  'gives all parts one number': {
    breaks: 'stays',
    make: writes((what) => ({ ...what, drafts: what.drafts.map((each) => ({ ...each, number: 1 })) })),
  },
  'forgets the parts that an earlier life left': { breaks: 'restores', make: over(() => ({ left: [] })) },
  'gives up all lanes for one part that cannot be read': {
    breaks: 'restores',
    make: over(({ left, newest }) => ({ left: left.length === newest ? left : [] })),
  },
  'does not write what is open': {
    breaks: 'kept',
    make: writes((what) => ({ ...what, drafts: [] })),
  },
  'writes the newest batch first': {
    breaks: 'order',
    make: writes((what) => ({ ...what, items: what.items.toReversed() })),
  },
  'tidies what it writes': {
    breaks: 'identical',
    make: given(({ eachOpen }) => ({
      eachOpen: (look) => {
        eachOpen((lane, messages) => {
          look(lane, messages.map(untidy))
        })
      },
    })),
  },
  'brings the lanes together': {
    breaks: 'restores',
    make: given(({ eachOpen }) => ({
      eachOpen: (look) => {
        eachOpen((_, messages) => {
          look(0, messages)
        })
      },
    })),
  },
  'does not count what lies in parts': {
    breaks: 'stats',
    make: writes((what) => ({ ...what, drafts: what.drafts.map((each) => ({ ...each, count: 0 })) })),
  },
  'counts what is open as lost though it is on the disk': {
    breaks: 'notPersisted',
    make: after((kept, { eachOpen }) => ({
      notPersisted: () => {
        let open = 0
        eachOpen((_, messages) => {
          open += messages.length
        })
        return Math.max(open, kept.notPersisted())
      },
    })),
  },
  'divides batches': {
    breaks: 'whole',
    make: writes((what) => ({
      ...what,
      items: what.items.flatMap(({ id, closedBy, members }) =>
        members.map((each) => batchOf(id, closedBy, [each])),
      ),
    })),
  },
  'hands out nothing while a batch is being written': {
    breaks: 'takes',
    make: after(({ outbox }, { store }) => ({ outbox: { ...outbox, take: store.take } })),
  },
  'hands out when all is written, and there is always more': {
    breaks: 'takes',
    make: after(({ outbox, whenKept }, { store }) => ({
      outbox: {
        ...outbox,
        take: async (...asked) => {
          const taken = await store.take(...asked)
          if (taken.length > 0) return taken
          for (let isOver = false; !isOver;) {
            await whenKept()
            const before = whenKept()
            isOver = (await Promise.race([before, Promise.resolve('more')])) !== 'more'
          }
          return store.take(...asked)
        },
      },
    })),
  },
  'hands back nothing': { breaks: 'handsBack', make: after(() => ({ giveUp: () => [] })) },
  'hands back what is on the disk in parts': {
    breaks: 'handsBack',
    make: (options) => {
      const closed = new Map<string, MessageBatch>()
      const kept = keeping({
        ...options,
        kept: (batches) => {
          for (const { id } of batches) closed.delete(id)
        },
      })
      return {
        ...kept,
        closed: (batch, lane) => {
          closed.set(batch.id, batch)
          kept.closed(batch, lane)
        },
        giveUp: () => {
          kept.giveUp()
          return [...closed.values()]
        },
      }
    },
  },
  'ends in memory only': {
    breaks: 'ends',
    make: after(({ outbox }) => ({ outbox: { ...outbox, end: () => undefined } })),
  },
  'hands out only the first batch of a life': {
    breaks: 'drains',
    make: after(({ outbox }) => ({
      outbox: { ...outbox, take: async (...asked) => (await outbox.take(...asked)).slice(0, 1) },
    })),
  },
  ...keepingsWithoutDisk,
}
