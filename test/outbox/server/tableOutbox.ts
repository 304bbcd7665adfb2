/**
 * An outbox over a table, as one over PostgreSQL would be: rows are leased by what skips the locked ones, a row is changed by id and token,
 * an append may join a transaction of the host, and processes wake each other when they commit.
 */
import { right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Awaitable } from '../../../src/core/awaitable.ts'
import type { Full } from '../../../src/core/refusal.ts'
import type { Entry, Outbox } from '../../../src/outbox/outbox.ts'
import { counted } from './counted.ts'
import { letters } from './letters.ts'
import type { Server } from './Server.ts'
import type { Transaction } from './Transaction.ts'
import type { Wire } from './wire.ts'

export interface TableOutbox<A> extends Outbox<A> {
  readonly append: (item: A, options?: { readonly within?: Transaction }) => Awaitable<Either<Full, Entry<A>>>
  /** Listeners of `watch`. */
  readonly listeners: () => number
}

export interface AdapterOptions<A> {
  readonly on: Server<A>
  readonly over: Wire
  readonly name: string
  /** Milliseconds that a lease lasts, unless it is renewed. */
  readonly lease: number
}

export const tableOutbox = <A>({ on, over, name, lease }: AdapterOptions<A>): TableOutbox<A> => {
  const { clock } = on
  const books = counted()
  /** Handed out, with the tokens of their leases. */
  const held = new Map<string, number>()
  let figures = on.figures()
  /** When something is due, as far as is known here. */
  let next: number | undefined
  let appended = 0
  let renewal: (() => void) | undefined
  let othersEnd: (() => void) | undefined
  let recounting: (() => void) | undefined
  let closed: Promise<void> | undefined

  const ask = async <T>(task: () => T): Promise<T> => {
    const answer = await over.ask(() => ({ value: task(), figures: on.figures() }))
    figures = answer.figures
    return answer.value
  }
  const ignore = (): void => undefined
  const until = (): number => clock.now() + lease
  const sooner = (at: number | undefined): void => {
    if (at !== undefined) next = Math.min(next ?? at, at)
  }

  /** What is due in the table, and when the first lease ends of what is not held here: another's, or one of which we never heard. */
  const outlook = (): { next: number | undefined; othersEnd: number | undefined } => {
    const rows = [...on.rows.values()]
    const free = rows.filter((row) => on.isFree(row) && !held.has(row.entry.id))
    const dues = free.map(({ due = 0 }) => due)
    const ends = rows.flatMap(({ entry, lease: of }) =>
      of !== undefined && !held.has(entry.id) && of.until > clock.now() ? [of.until] : [],
    )
    return {
      next: dues.length === 0 ? undefined : Math.min(...dues),
      othersEnd: ends.length === 0 ? undefined : Math.min(...ends),
    }
  }
  next = outlook().next

  const renew = (): void => {
    if (renewal !== undefined || held.size === 0 || closed !== undefined) return
    renewal = clock.schedule(lease / 3, () => {
      renewal = undefined
      ask(() => on.extend(held, until())).then(renew, renew)
    })
  }

  /** Others may die: then what they held is here at the end of their leases. */
  const watchOthers = (end: number | undefined): void => {
    othersEnd?.()
    othersEnd = undefined
    if (end === undefined || closed !== undefined) return
    othersEnd = clock.schedule(end - clock.now(), () => {
      othersEnd = undefined
      sooner(0)
      books.lookAgain()
    })
  }

  /** What is held and was lost is found out when it is put back, and not missed when it is ended. */
  const gone = (ids: ReadonlyArray<string>): void => {
    books.gone(ids.filter((id) => !held.has(id)))
  }
  /** It was lost meanwhile; who took it may be dead, and it may lie there. */
  const late = (ids: ReadonlyArray<string>): void => {
    gone(ids)
    sooner(0)
    books.lookAgain()
  }
  const unlisten = on.listen(name, (note) => {
    over.say(() => {
      if (note.say === 'moved') gone(note.ids)
      else if (note.say === 'room') ask(() => undefined).then(books.lookAgain, ignore)
      else {
        sooner(note.at)
        books.lookAgain()
      }
    })
  })
  /** What was said while the connection was down was not heard. */
  const recount = (): void => {
    recounting = undefined
    const ids = books.ids()
    ask(() => ids.filter((id) => on.rows.get(id)?.owner !== name)).then(gone, () => {
      if (closed === undefined) recounting = clock.schedule(lease, recount)
    })
  }
  over.onUp = () => {
    sooner(0)
    books.lookAgain()
    recounting?.()
    recount()
  }

  return {
    durable: true,
    append: async (item, { within } = {}) => {
      const id = `${name} ${++appended}`
      if (within !== undefined) {
        // Nobody's, so it is news to everybody, also here.
        within.add(() => on.insert(id, item, ''))
        return right({ id, item, firstAttemptAt: undefined, progress: undefined })
      }
      try {
        const answer = await ask(() => on.insert(id, item, name))
        if (answer._tag === 'Left') return answer
        books.appended(id)
        sooner(0)
        return answer
      } catch (error) {
        // It may be there all the same: then it is news.
        sooner(0)
        books.lookAgain()
        throw error
      }
    },
    take: async (now, limit, parked) => {
      // What is heard meanwhile is newer than the answer.
      const before = next
      next = undefined
      const answer = await ask(() => {
        const rows = on
          .free(now, limit + held.size, parked + held.size)
          // What is held here and was put back, though the answer was lost, is still held here.
          .filter(({ entry }) => !held.has(entry.id))
        const retries = rows.filter(({ due }) => due !== undefined).slice(0, Math.min(limit, parked))
        const fresh = rows.filter(({ due }) => due === undefined).slice(0, limit - retries.length)
        const leased = [...retries, ...fresh].map((row) => on.lease(row, name, until()))
        return { leased, ...outlook() }
      }).catch((error: unknown) => {
        sooner(before)
        throw error
      })
      if (closed !== undefined) return []
      sooner(answer.next)
      watchOthers(answer.othersEnd)
      for (const { entry, token } of answer.leased) held.set(entry.id, token)
      renew()
      const entries = answer.leased.map(({ entry }) => entry)
      books.arrived(entries.map(({ id }) => id))
      return entries
    },
    park: async (entry, due) => {
      const token = held.get(entry.id)
      if (token === undefined) return
      const isKept = await ask(() => on.park(entry, token, name, due))
      held.delete(entry.id)
      if (isKept) sooner(due)
      else late([entry.id])
    },
    end: async (entry, outcome) => {
      const token = held.get(entry.id)
      if (token === undefined) return
      const isEnded = await ask(() => on.end(entry, token, outcome))
      held.delete(entry.id)
      books.ended(entry.id)
      if (!isEnded) late([])
    },
    bury: (item, outcome) =>
      ask(() => {
        on.bury(item, outcome)
      }),
    nextDue: () => next,
    watch: books.watch,
    listeners: books.listeners,
    abandon: () => [],
    dead: letters(on, ask, name, (ids) => {
      for (const id of ids) books.appended(id)
      if (ids.length > 0) sooner(0)
    }),
    stats: () => ({ ...figures, ...on.bounds }),
    close: () => {
      renewal?.()
      recounting?.()
      watchOthers(undefined)
      unlisten()
      closed ??= ask(() => {
        on.release(name)
      }).catch(ignore)
      return closed
    },
  }
}
