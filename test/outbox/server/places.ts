/** The two kinds of server, as processes open them. */
import { right } from 'fp-ts/lib/Either.js'
import { brokerOutbox } from './brokerOutbox.ts'
import type { Place } from './play.ts'
import { pushing } from './pushing.ts'
import type { Server } from './Server.ts'
import { tableOutbox } from './tableOutbox.ts'
import type { Transaction } from './Transaction.ts'
import { LEASE } from './worlds.ts'

export const tablePlace = (on: Server<number>): Place => ({
  open: (name, over) => tableOutbox({ on, over, name, lease: LEASE }),
  gone: () => undefined,
})

/** Whoever appends past the relay publishes for himself. */
export const brokerPlace = (on: Server<number>): Place => {
  const to = pushing(on, LEASE)
  let published = 0
  return {
    open: (name, over) => {
      const outbox = brokerOutbox({ to, over, name, prefetch: 3 })
      return {
        ...outbox,
        append: (item: number, { within }: { readonly within?: Transaction | undefined } = {}) => {
          if (within === undefined) return outbox.append(item)
          within.add(() => on.insert(`host ${++published}`, item, ''))
          return right({ id: '', item, firstAttemptAt: undefined, progress: undefined })
        },
      }
    },
    gone: to.leave,
  }
}
