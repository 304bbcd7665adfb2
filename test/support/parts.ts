/** The parts that deliver, in one form for tests that ask the same of each. */
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { Subject } from 'rxjs'
import { createClient, type ClientOptions, type Message, type SentBatch } from '../../src/client/index.ts'
import { createCollector } from '../../src/collector/index.ts'
import type { Event } from '../../src/event/index.ts'
import { deliver, type DeliverOptions, type Layer, type Payload, type Sink } from '../../src/index.ts'
import type { Outbox } from '../../src/outbox/index.ts'
import { openOver, track } from '../destination/virtual.ts'

export interface PartOptions extends Pick<DeliverOptions, 'clock' | 'random' | 'retry' | 'onEvent'> {
  /** Makes the sink. `idOf` answers the id of an event, of a batch that of its first one. */
  readonly target: <A>(idOf: (item: A) => string) => Sink<A>
  readonly store?: (<A>() => Outbox<A>) | undefined
  readonly ended: (kind: string, id: string) => void
  readonly client?: ClientOptions
  readonly layer?: Layer
}

type Item = Readonly<{ id: string }>
const idOf = ({ id }: Item): string => id

/** `call` gives an event with this id; `rest` resolves when all have ended. */
export const parts = {
  deliver: ({ target, store, ended, client: _, ...options }: PartOptions) => {
    const source = new Subject<Either<never, Item>>()
    const outbox = store && { outbox: store<Item>() }
    // A pipeline has no counters: these are of what its subscriber sees.
    const seen = { accepted: 0, delivered: 0, waiting: 0, refused: 0 }
    const done = new Promise<typeof seen>((resolve) => {
      source.pipe(deliver(target(idOf), { ...options, ...outbox })).subscribe({
        next: (end) => {
          seen.waiting--
          seen['item' in end ? 'delivered' : 'refused']++
          if ('item' in end) ended(end._tag, end.item.id)
        },
        complete: () => resolve(seen),
      })
    })
    const rest = (): typeof done => (source.complete(), done)
    const call = (id: string) => {
      const { refused } = seen
      seen.waiting++
      source.next(right({ id }))
      if (seen.refused > refused) return left(refused)
      seen.accepted++
      return right({ id })
    }
    const close = async (_options: object = {}) => ({ totals: await rest(), abandoned: [] })
    return { call, rest, close, stats: () => seen }
  },
  destination: ({ target, store, ended, client: _, ...options }: PartOptions) => {
    const outbox = store && { outbox: store<Payload<Event>>() }
    const made = openOver([target(idOf)], { ...options, ...outbox, logger: false })
    made.outcomes$.subscribe(({ _tag, item }) => ended(_tag, item.id))
    const redriveAll = () => made.redrive(() => true)
    return { ...made, rest: made.idle, redriveAll, call: (id: string) => made.send(track(id)) }
  },
  client: ({ target, store, ended, client, ...options }: PartOptions) => {
    const outbox = store && { outbox: store<Message>() }
    const sink = target<SentBatch>(({ members: [member] }) => member?.id ?? '')
    const silent = { logger: false, drainOnExit: false } as const
    const made = createClient('key', { size: 1, ...options, ...silent, ...client, ...outbox, sink })
    made.outcomes$.subscribe(({ _tag, item }) => ended(_tag, item.id))
    const call = (messageId: string) => made.track({ messageId, userId: 'u', event: 'e' })
    return { ...made, rest: made.flush, call }
  },
  collector: ({ target, store, ended, client: _, ...options }: PartOptions) => {
    const outbox = store && { outbox: () => store<Payload<Event>>() }
    const sources = [{ id: 'web', writeKey: 'wk' }]
    const destinations = [{ name: 'd', sources: ['web'], sink: target(idOf) }]
    const made = createCollector({ sources, destinations }, { ...options, ...outbox, logger: false })
    made.outcomes$.subscribe(({ outcome }) => ended(outcome._tag, outcome.item.id))
    return { ...made, rest: made.idle, call: (id: string) => made.accept('web', track(id)) }
  },
}
