/** What makes a broker of a server: it pushes to whoever has room, and again when a delay is over or an ack was waited for in vain. */
import type { Leased, Server } from './Server.ts'

/** Who is pushed to. */
export interface Consumer<A> {
  readonly name: string
  /** So many may be unacknowledged at once. */
  readonly prefetch: number
  readonly deliver: (leased: Leased<A>) => void
}

export interface Broker<A> {
  readonly on: Server<A>
  readonly ackWait: number
  readonly join: (consumer: Consumer<A>) => void
  /** Pushes to it no longer: it left, or its connection broke. */
  readonly leave: (name: string) => void
  /** Pushes what is due; the broker does so by itself, on its own clock. */
  readonly push: () => void
}

export const pushing = <A>(on: Server<A>, ackWait: number): Broker<A> => {
  const { clock } = on
  let consumers: ReadonlyArray<Consumer<A>> = []
  let alarm: (() => void) | undefined

  const unacknowledged = (name: string): number =>
    [...on.rows.values()].filter((row) => row.lease?.holder === name && !on.isFree(row)).length

  /** When a delay, or the wait for an ack, is over. */
  const arm = (): void => {
    alarm?.()
    alarm = undefined
    const moments = [...on.rows.values()].flatMap((row) =>
      on.isFree(row) ? (row.due ?? []) : (row.lease?.until ?? []),
    )
    const ahead = moments.filter((at) => at > clock.now())
    if (consumers.length === 0 || ahead.length === 0) return
    alarm = clock.schedule(Math.min(...ahead) - clock.now(), () => {
      alarm = undefined
      push()
    })
  }

  const push = (): void => {
    for (const row of on.free(clock.now(), Infinity, Infinity)) {
      const consumer = consumers.find(({ name, prefetch }) => unacknowledged(name) < prefetch)
      if (consumer === undefined) break
      // The one who had something goes behind the others.
      consumers = [...consumers.filter((each) => each !== consumer), consumer]
      consumer.deliver(on.lease(row, consumer.name, clock.now() + ackWait))
    }
    arm()
  }

  on.onChange = push
  return {
    on,
    ackWait,
    join: (consumer) => {
      consumers = [...consumers, consumer]
      push()
    },
    leave: (name) => {
      consumers = consumers.filter((each) => each.name !== name)
      push()
    },
    push,
  }
}
