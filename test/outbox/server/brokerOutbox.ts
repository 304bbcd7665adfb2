/**
 * An outbox over a broker that pushes, as one over JetStream would be: what is due comes by itself, as many as may be unacknowledged, and
 * is put back with a delay. Nobody can ask when the next one is due.
 */
import type { Outbox } from '../../../src/outbox/outbox.ts'
import { counted } from './counted.ts'
import { letters } from './letters.ts'
import type { Broker } from './pushing.ts'
import type { Leased } from './Server.ts'
import type { Wire } from './wire.ts'

export interface BrokerOutbox<A> extends Outbox<A> {
  /** Listeners of `watch`. */
  readonly listeners: () => number
}

export interface BrokerOptions<A> {
  readonly to: Broker<A>
  readonly over: Wire
  readonly name: string
  /** So many are delivered ahead. */
  readonly prefetch: number
}

export const brokerOutbox = <A>({ to, over, name, prefetch }: BrokerOptions<A>): BrokerOutbox<A> => {
  const { on, ackWait } = to
  const { clock } = on
  const books = counted()
  /** Delivered and not taken. */
  let fetched: ReadonlyArray<Leased<A>> = []
  /** Handed out, as it was delivered last: it may come again before we know that it was put back, or when it was waited for too long. */
  const held = new Map<string, Leased<A>>()
  /** What we publish, and what came to us and to others of it, before the broker has acknowledged it. */
  const publishing = new Map<string, { delivered: Leased<A> | undefined; moved: boolean }>()
  let figures = on.figures()
  let appended = 0
  let working: (() => void) | undefined
  let closed: Promise<void> | undefined

  const ignore = (): void => undefined

  const ask = async <T>(task: () => T): Promise<T> => {
    const answer = await over.ask(() => ({ value: task(), figures: on.figures() }))
    figures = answer.figures
    return answer.value
  }
  const isHere = (id: string): boolean => held.has(id) || fetched.some(({ entry }) => entry.id === id)

  /** What is here is worked on: also what was only delivered, or the broker would deliver it again. */
  const work = (): void => {
    if (working !== undefined || closed !== undefined || held.size + fetched.length === 0) return
    working = clock.schedule(ackWait / 3, () => {
      working = undefined
      const all = new Map([...held.values(), ...fetched].map(({ entry, token }) => [entry.id, token]))
      ask(() => on.extend(all, clock.now() + ackWait))
        .then((lost) => {
          fetched = fetched.filter(({ entry }) => !lost.includes(entry.id))
          books.gone(lost.filter((id) => !held.has(id)))
        }, ignore)
        .then(work, ignore)
    })
  }

  const fetch = (leased: Leased<A>): void => {
    fetched = [...fetched.filter(({ entry }) => entry.id !== leased.entry.id), leased]
    books.arrived([leased.entry.id])
    books.lookAgain()
    work()
  }
  const deliver = (leased: Leased<A>): void => {
    if (closed !== undefined) return
    const early = publishing.get(leased.entry.id)
    if (early !== undefined) early.delivered = leased
    else if (held.has(leased.entry.id)) held.set(leased.entry.id, leased)
    else fetch(leased)
  }
  to.join({
    name,
    prefetch,
    deliver: (leased) => {
      over.say(() => {
        deliver(leased)
      })
    },
  })

  const moved = (ids: ReadonlyArray<string>): void => {
    for (const id of ids) {
      const early = publishing.get(id)
      if (early !== undefined) early.moved = true
      else if (!isHere(id)) books.gone([id])
    }
  }
  // Without an answer: what is lost here leaves a count too high.
  const unlisten = on.listen(name, (note) => {
    over.say(() => {
      if (note.say === 'moved') moved(note.ids)
    })
  })

  const published = (id: string): void => {
    const early = publishing.get(id)
    publishing.delete(id)
    if (early?.moved === true) moved([id])
    if (early?.delivered !== undefined) deliver(early.delivered)
  }

  return {
    durable: true,
    append: async (item) => {
      const id = `${name} ${++appended}`
      publishing.set(id, { delivered: undefined, moved: false })
      try {
        const answer = await ask(() => on.insert(id, item, name))
        if (answer._tag === 'Right') books.appended(id)
        return answer
      } finally {
        // When the relay has heard of it.
        void Promise.resolve().then(() => {
          published(id)
        })
      }
    },
    take: (_, limit, parked) => {
      const retries = fetched
        .filter(({ due }) => due !== undefined)
        .sort((a, b) => (a.due ?? 0) - (b.due ?? 0))
        .slice(0, Math.min(limit, parked))
      const fresh = fetched.filter(({ due }) => due === undefined).slice(0, limit - retries.length)
      const taken = [...retries, ...fresh]
      fetched = fetched.filter((each) => !taken.includes(each))
      for (const each of taken) held.set(each.entry.id, each)
      return taken.map(({ entry }) => entry)
    },
    // What is known of its attempts is stored beside it first, for a message that is put back is not changed.
    park: async (entry, due) => {
      const before = held.get(entry.id)
      if (before === undefined) return
      const isKept = await ask(() => on.park(entry, before.token, name, due))
      const now = held.get(entry.id)
      held.delete(entry.id)
      if (!isKept) books.gone([entry.id])
      else if (now !== undefined && now !== before) fetch(now)
    },
    end: async (entry, outcome) => {
      for (let last: Leased<A> | undefined; held.get(entry.id) !== last;) {
        last = held.get(entry.id)
        const token = last?.token ?? 0
        await ask(() => {
          on.end(entry, token, outcome)
        })
      }
      held.delete(entry.id)
      books.ended(entry.id)
    },
    bury: (item, outcome) =>
      ask(() => {
        on.bury(item, outcome)
      }),
    nextDue: () => (fetched.length > 0 ? 0 : undefined),
    watch: books.watch,
    listeners: books.listeners,
    abandon: () => [],
    dead: letters(on, ask, name, (ids) => {
      for (const id of ids) books.appended(id)
    }),
    stats: () => ({ ...figures, ...on.bounds }),
    close: () => {
      working?.()
      working = undefined
      to.leave(name)
      unlisten()
      closed ??= ask(() => {
        on.release(name)
      }).catch(ignore)
      return closed
    },
  }
}
