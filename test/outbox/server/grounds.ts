/** Servers on which the laws of any outbox are played, one process at a time. */
import type { Clock } from '../../../src/core/clock.ts'
import type { Outbox } from '../../../src/outbox/outbox.ts'
import type { Bounds, Ground, Item, MakeGround } from '../../laws/outboxWorld.ts'
import { brokerOutbox } from './brokerOutbox.ts'
import { pushing } from './pushing.ts'
import type { Broker } from './pushing.ts'
import { server } from './Server.ts'
import type { Server } from './Server.ts'
import { tableOutbox } from './tableOutbox.ts'
import { wire } from './wire.ts'
import type { Wire } from './wire.ts'

/** Longer than any of these worlds: a lease ends here when its holder is gone. */
const LONG = 1e9

type Open = (on: Server<Item>, over: Wire, name: string) => Outbox<Item>

interface More extends Pick<Ground, 'knowsOnlyWhatIsDue'> {
  /** A process is gone. */
  readonly leaves?: (name: string) => void
}

const ground = (open: Open, { leaves, ...more }: More = {}): Ground => {
  let on: Server<Item> | undefined
  let over: Wire | undefined
  let life = 0
  const serve = (bounds: Bounds, clock: Clock): Server<Item> =>
    (on ??= server({ ...bounds, clock, sizeOf: ({ size }: Item) => size }))
  return {
    open: (bounds, clock) => {
      const table = serve(bounds, clock)
      over = wire({ clock, latency: 0 })
      return open(table, over, `life ${++life}`)
    },
    crash: () => {
      over?.die()
      leaves?.(`life ${life}`)
      on?.release(`life ${life}`)
    },
    leave: () => undefined,
    ...more,
  }
}

export const tableGround: MakeGround = () =>
  ground((on, over, name) => tableOutbox({ on, over, name, lease: LONG }))

/** Its clock stands still, so it is asked to push before it is looked at; how far it delivers ahead bounds nothing here. */
export const brokerGround: MakeGround = () => {
  let to: Broker<Item> | undefined
  const open: Open = (on, over, name) => {
    const broker = (to ??= pushing(on, LONG))
    const outbox = brokerOutbox({ to: broker, over, name, prefetch: Infinity })
    return {
      ...outbox,
      nextDue: () => {
        broker.push()
        return outbox.nextDue()
      },
      take: (...args) => {
        broker.push()
        return outbox.take(...args)
      },
    }
  }
  return ground(open, { knowsOnlyWhatIsDue: true, leaves: (name) => to?.leave(name) })
}
