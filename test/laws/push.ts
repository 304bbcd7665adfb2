/** The laws of a push source, against commands that reach its bounds. */
import type { Either } from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import type { Abandoned, Dropped } from '../../src/core/outcome.ts'
import type { NotTaken, Push, PushOptions } from '../../src/sources/push.ts'
import { holds, same } from './policyLaw.ts'
import { world } from './pushWorld.ts'
import type { Command, Item, World } from './pushWorld.ts'

export type MakePush = (options: PushOptions<Item>) => Push<Item>

/** What happened, in the order in which it could be seen. */
export type Seen =
  | { readonly at: 'offer'; readonly n: number; readonly answer: string }
  | { readonly at: 'read'; readonly got: number | 'done' }
  | { readonly at: 'lost'; readonly n: number; readonly why: string }
  | { readonly at: 'ready'; readonly waiter: number }

export interface Trace {
  readonly seen: ReadonlyArray<Seen>
  /** After each command, when everything has settled. */
  readonly after: ReadonlyArray<{
    readonly waiting: number
    readonly bytes: number
    readonly unread: number
    readonly notReady: number
    readonly identity: boolean
  }>
  readonly stats: ReturnType<Push<Item>['stats']>
}

const answerOf = (answer: Either<NotTaken, void>): string => {
  if (answer._tag === 'Right') return 'taken'
  const refusal = answer.left
  return refusal._tag === 'Full' ? `Full ${refusal.bound} ${String(refusal.limit)}` : refusal._tag
}

const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve)
    })
  }
}

export const play = async (make: MakePush, { commands, ...options }: World): Promise<Trace> => {
  const seen: Seen[] = []
  const after: Array<Trace['after'][number]> = []
  let offered = 0
  let waiters = 0
  let asked = 0
  let got = 0
  let ready = 0

  const source = make({
    ...options,
    sizeOf: (item) => item.size,
    onDropped: (outcome: Dropped<Item> | Abandoned<Item>) => {
      const why = outcome._tag === 'Dropped' ? outcome.reason : outcome._tag
      seen.push({ at: 'lost', n: outcome.item.n, why })
    },
  })
  const reader = source[Symbol.asyncIterator]()

  const offer = (bytes: number): void => {
    const n = offered++
    seen.push({ at: 'offer', n, answer: answerOf(source.offer({ n, size: bytes })) })
  }

  const obey = (command: Command): void => {
    switch (command.do) {
      case 'offer':
        for (let i = 0; i < command.times; i++) offer(command.size)
        return
      case 'read':
        for (let i = 0; i < command.times; i++) {
          asked++
          void reader.next().then((result) => {
            got++
            seen.push({ at: 'read', got: result.done === true ? 'done' : result.value.n })
          })
        }
        return
      case 'ready': {
        const waiter = waiters++
        void source.ready().then(() => {
          ready++
          seen.push({ at: 'ready', waiter })
          if (command.offer !== null) offer(command.offer)
        })
        return
      }
      case 'end':
        source.end()
        return
      case 'leave':
        void reader.return?.()
    }
  }

  for (const each of commands) {
    obey(each)
    await turns(2 + waiters - ready)
    const { accepted, taken, dropped, abandoned, waiting, bytes } = source.stats()
    const identity = accepted === taken + dropped + abandoned + waiting
    after.push({ waiting, bytes, unread: asked - got, notReady: waiters - ready, identity })
  }
  return { seen, after, stats: source.stats() }
}

export interface PushLaw {
  readonly id: string
  readonly property: fc.IAsyncProperty<unknown>
}

const numbers = (
  trace: Trace,
  at: 'offer' | 'read' | 'lost',
  which: (seen: Seen) => boolean,
): ReadonlyArray<number> =>
  trace.seen.flatMap((seen) => {
    if (seen.at !== at || !which(seen)) return []
    if (seen.at === 'read') return seen.got === 'done' ? [] : [seen.got]
    return [seen.n]
  })

const isTaken = (seen: Seen): boolean => seen.at === 'offer' && seen.answer === 'taken'
const always = (): boolean => true

export const pushLaws = (make: MakePush, model: MakePush): ReadonlyArray<PushLaw> => {
  const all = (id: string, check: (trace: Trace, asked: World) => void | Promise<void>): PushLaw => ({
    id,
    property: fc.asyncProperty(world, async (asked) => check(await play(make, asked), asked)),
  })
  return [
    all('Q1 what waits keeps both bounds', ({ after }, { capacity, maxBytes }) => {
      for (const { waiting, bytes } of after) {
        holds(
          waiting <= capacity && bytes <= maxBytes && bytes >= 0,
          `${String(waiting)} wait, ${String(bytes)} bytes`,
        )
      }
    }),
    all(
      'Q2 every item that was taken comes out, is reported lost, or waits; exactly one of these',
      (trace) => {
        const taken = numbers(trace, 'offer', isTaken)
        const read = numbers(trace, 'read', always)
        const lost = numbers(trace, 'lost', always)
        same(new Set([...read, ...lost]).size, read.length + lost.length)
        holds(
          [...read, ...lost].every((n) => taken.includes(n)),
          'came out without being taken',
        )
        same(taken.length - read.length - lost.length, trace.stats.waiting)
      },
    ),
    all('Q3 accepted = taken + dropped + abandoned + waiting, after every command', (trace) => {
      holds(
        trace.after.every(({ identity }) => identity),
        'the sum is wrong',
      )
      same(trace.stats.accepted, numbers(trace, 'offer', isTaken).length)
      same(trace.stats.refused, trace.seen.filter((seen) => seen.at === 'offer' && !isTaken(seen)).length)
    }),
    all('Q4 items come out in the order of their offers', (trace) => {
      const read = numbers(trace, 'read', always)
      same(
        read,
        [...read].sort((a, b) => a - b),
      )
    }),
    all('Q5 no reader waits while something waits for it, nor after the end', ({ after }, { commands }) => {
      for (const { unread, waiting } of after)
        holds(unread === 0 || waiting === 0, 'a reader waits beside an item')
      const end = commands.findIndex((each) => each.do === 'end' || each.do === 'leave')
      if (end >= 0)
        holds(
          after.slice(end).every(({ unread, notReady }) => unread === 0 && notReady === 0),
          'somebody waits after the end',
        )
    }),
    all('Q6 those who wait for room are let through in their order', ({ seen }) => {
      const order = seen.flatMap((each) => (each.at === 'ready' ? [each.waiter] : []))
      same(
        order,
        order.map((_, i) => i),
      )
    }),
    {
      id: 'Q7 offers, reads and losses are those of a plain list, in the same order',
      property: fc.asyncProperty(world, async (asked) => {
        const [mine, other] = await Promise.all([play(make, asked), play(model, asked)])
        same(mine, other)
      }),
    },
    {
      id: 'Q8 nobody waits for room that is there',
      property: fc.asyncProperty(world, async (asked) => {
        const trace = await play(make, asked)
        const { maxBytes, capacity } = asked
        trace.after.forEach(({ notReady, waiting, bytes }) => {
          // 30 is the largest size that is offered.
          const room = waiting < capacity && bytes + 30 <= maxBytes
          holds(notReady === 0 || !room, 'somebody waits beside room')
        })
      }),
    },
  ]
}
