/** Shared stores, and relays over them, that are wrong on purpose. Each must break the law that it names. */
import type { SHARED_LAWS } from '../laws/sharedOutbox.ts'
import { relay } from '../../src/outbox/relay.ts'
import type { Outbox, OutboxChange } from '../../src/outbox/outbox.ts'
import { brokerPlace, tablePlace } from '../outbox/server/places.ts'
import type { Makes, Opened, Place } from '../outbox/server/play.ts'
import type { Server } from '../outbox/server/Server.ts'

export interface SharedMutant {
  readonly breaks: keyof typeof SHARED_LAWS
  readonly makes: Makes
}

type OnServer = (on: Server<number>) => Place

/** Another server under the table. */
const overServer = (change: (on: Server<number>) => Partial<Server<number>>): Makes => ({
  place: (on) => tablePlace({ ...on, ...change(on) }),
})

/** Another outbox than the one that a place opens. */
const opened = (of: OnServer, change: (outbox: Opened, on: Server<number>) => Partial<Opened>): Makes => ({
  place: (on) => {
    const place = of(on)
    return {
      ...place,
      open: (name, over) => {
        const outbox = place.open(name, over)
        return { ...outbox, ...change(outbox, on) }
      },
    }
  },
})

const saying =
  (change: (news: OutboxChange) => OutboxChange) =>
  ({ watch }: Opened): Partial<Opened> => ({
    watch: (listener) =>
      watch?.((news = {}) => {
        listener(change(news))
      }) ?? (() => undefined),
  })

const watching = (outbox: Outbox<number>, watch: Outbox<number>['watch']): Outbox<number> => {
  const { watch: _, ...others } = outbox
  return watch === undefined ? others : { ...others, watch }
}

export const sharedMutants: Readonly<Record<string, SharedMutant>> = {
  'a store that forgets to wake': {
    breaks: 'ends',
    makes: opened(tablePlace, () => ({ watch: () => () => undefined })),
  },
  'a broker that forgets to wake': {
    breaks: 'ends',
    makes: opened(brokerPlace, () => ({ watch: () => () => undefined })),
  },
  'a store that hands out what another has': {
    breaks: 'apart',
    makes: overServer((on) => ({
      free: (now, limit) => [...on.rows.values()].filter(({ due = 0 }) => due <= now).slice(0, limit),
    })),
  },
  'a store that lets its leases run out': {
    breaks: 'apart',
    makes: overServer(() => ({ extend: () => [] })),
  },
  'a store that appends outside of the transaction': {
    breaks: 'unseen',
    makes: opened(tablePlace, ({ append }) => ({ append: (item) => append(item) })),
  },
  'a store that says what arrived twice': {
    breaks: 'agree',
    makes: opened(
      tablePlace,
      saying(({ arrived = 0, ...news }) => ({ ...news, arrived: 2 * arrived })),
    ),
  },
  'a store that does not say what is gone': {
    breaks: 'agree',
    makes: opened(
      tablePlace,
      saying(({ arrived = 0 }) => ({ arrived })),
    ),
  },
  'a broker that does not say what is gone': {
    breaks: 'agree',
    makes: opened(
      brokerPlace,
      saying(({ arrived = 0 }) => ({ arrived })),
    ),
  },
  'a store that polls': {
    breaks: 'still',
    makes: opened(tablePlace, (_, { clock }) => {
      const poll = (): void => {
        clock.schedule(1_000, poll)
      }
      poll()
      return {}
    }),
  },
  'a relay that does not listen': {
    breaks: 'ends',
    makes: {
      place: tablePlace,
      relay: (options) => relay({ ...options, outbox: watching(options.outbox, undefined) }),
    },
  },
  'a relay that counts what it was not told of at its end alone': {
    breaks: 'identity',
    makes: {
      place: tablePlace,
      relay: (options) => {
        const work = relay({ ...options, outbox: watching(options.outbox, undefined) })
        options.outbox.watch?.(() => work.withdrawn([]))
        return work
      },
    },
  },
  'a relay that listens after its close': {
    breaks: 'leaves',
    makes: {
      place: tablePlace,
      relay: (options) =>
        relay({
          ...options,
          outbox: watching(options.outbox, (listener) => {
            options.outbox.watch?.(listener)
            return () => undefined
          }),
        }),
    },
  },
}
