import type { Either } from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { it } from 'vitest'
import type { Abandoned, Dropped } from '../../src/core/outcome.ts'
import { push, type NotTaken, type Push, type PushOptions } from '../../src/sources/push.ts'
import { holds, lawTable, same, turns } from '../support/check.ts'

export interface Item {
  readonly n: number
  readonly size: number
}

export type MakePush = (options: PushOptions<Item>) => Push<Item>

type Command =
  | { readonly do: 'offer'; readonly size: number; readonly times: number }
  | { readonly do: 'read'; readonly times: number }
  /** Waits for room; `offer` is what is offered then, if anything. */
  | { readonly do: 'ready'; readonly offer: number | null }
  | { readonly do: 'end' }
  | { readonly do: 'leave' }

interface World {
  readonly capacity: number
  readonly maxBytes: number
  readonly overflow: 'error' | 'dropNewest' | 'dropOldest'
  readonly commands: ReadonlyArray<Command>
}

const size = fc.oneof(fc.nat({ max: 12 }), fc.constantFrom(0, 1, 30, NaN, -1))
const times = fc.integer({ min: 1, max: 4 })
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 36, arbitrary: fc.record({ do: fc.constant('offer' as const), size, times }) },
  { weight: 20, arbitrary: fc.record({ do: fc.constant('read' as const), times }) },
  {
    weight: 18,
    arbitrary: fc.record({ do: fc.constant('ready' as const), offer: fc.option(fc.nat({ max: 12 })) }),
  },
  { weight: 1, arbitrary: fc.constantFrom<Command>({ do: 'end' }, { do: 'leave' }) },
)

const world: fc.Arbitrary<World> = fc.record({
  capacity: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constant(12)),
  maxBytes: fc.constantFrom(12, 20, 1_000_000),
  overflow: fc.constantFrom('error' as const, 'error' as const, 'dropNewest' as const, 'dropOldest' as const),
  commands: fc.array(command, { maxLength: 30, size: 'max' }),
})

interface Trace {
  /** Numbers of the items, in the order of the events. */
  readonly taken: number[]
  readonly read: number[]
  readonly lost: number[]
  readonly answers: string[]
  readonly whyLost: string[]
  /** Waiters, in the order in which `ready` resolved, and whether there was room then. */
  readonly ready: number[]
  readonly readyWithRoom: boolean[]
  /** Answers that a plain list would not have given. */
  readonly wrong: string[]
  /** After each command, when everything has settled. */
  readonly after: Array<{ waiting: number; bytes: number; unread: number; notReady: number; sum: boolean }>
  readonly stats: ReturnType<Push<Item>['stats']>
}

/** What a plain list answers to an offer, and what it holds afterwards. */
const plainList = ({ capacity, maxBytes, overflow }: World) => {
  const held: Item[] = []
  const bytes = (): number => held.reduce((sum, item) => sum + item.size, 0)
  const boundFor = (item: Item): string | undefined => {
    if (held.length >= capacity) return `Full count ${String(capacity)}`
    return bytes() + item.size > maxBytes ? `Full bytes ${String(maxBytes)}` : undefined
  }
  return {
    held,
    bytes,
    offer: (item: Item): string => {
      if (!(item.size >= 0 && item.size <= maxBytes)) return 'TooLarge'
      const bound = boundFor(item)
      if (bound !== undefined && overflow === 'error') return bound
      if (bound !== undefined && overflow === 'dropNewest') return 'taken'
      while (boundFor(item) !== undefined) held.shift()
      held.push(item)
      return 'taken'
    },
  }
}

const answerOf = (answer: Either<NotTaken, void>): string => {
  if (answer._tag === 'Right') return 'taken'
  const refusal = answer.left
  return refusal._tag === 'Full' ? `Full ${refusal.bound} ${String(refusal.limit)}` : refusal._tag
}

const play = async (make: MakePush, asked: World): Promise<Trace> => {
  const { commands, ...options } = asked
  const trace: Omit<Trace, 'stats'> = {
    ...{ taken: [], read: [], lost: [], answers: [], whyLost: [] },
    ...{ ready: [], readyWithRoom: [], wrong: [], after: [] },
  }
  const list = plainList(asked)
  let offered = 0
  let waiters = 0
  let reads = 0
  let results = 0
  let ended = false

  const source = make({
    ...options,
    sizeOf: (item) => item.size,
    onDropped: (outcome: Dropped<Item> | Abandoned<Item>) => {
      trace.lost.push(outcome.item.n)
      trace.whyLost.push(outcome._tag === 'Dropped' ? outcome.reason : outcome._tag)
    },
  })
  const reader = source[Symbol.asyncIterator]()

  /** The list follows: readers take at once what there is. */
  const follow = (): void => {
    const { waiting, bytes } = source.stats()
    while (reads - results > 0 && list.held.length > waiting) list.held.shift()
    if (waiting !== list.held.length || bytes !== list.bytes())
      trace.wrong.push(`${String(waiting)} wait with ${String(bytes)} bytes`)
  }

  const offer = (bytes: number): void => {
    const item = { n: offered++, size: bytes }
    const expected = ended ? 'Closed' : list.offer(item)
    const answer = answerOf(source.offer(item))
    trace.answers.push(answer)
    if (answer === 'taken') trace.taken.push(item.n)
    if (answer !== expected) trace.wrong.push(`${answer} for ${expected}`)
    follow()
  }

  const obey = (each: Command): void => {
    switch (each.do) {
      case 'offer':
        for (let i = 0; i < each.times; i++) offer(each.size)
        return
      case 'read':
        for (let i = 0; i < each.times; i++) {
          reads++
          void reader.next().then((result) => {
            results++
            if (result.done !== true) trace.read.push(result.value.n)
          })
          follow()
        }
        return
      case 'ready': {
        const waiter = waiters++
        void source.ready().then(() => {
          trace.ready.push(waiter)
          trace.readyWithRoom.push(ended || source.stats().waiting < options.capacity)
          if (each.offer !== null) offer(each.offer)
        })
        return
      }
      case 'end':
        ended = true
        source.end()
        return
      case 'leave':
        ended = true
        list.held.length = 0
        void reader.return?.()
    }
  }

  for (const each of commands) {
    obey(each)
    await turns(2 + waiters - trace.ready.length)
    const { accepted, taken, dropped, abandoned, waiting, bytes } = source.stats()
    const sum = accepted === taken + dropped + abandoned + waiting
    trace.after.push({ waiting, bytes, unread: reads - results, notReady: waiters - trace.ready.length, sum })
  }
  return { ...trace, stats: source.stats() }
}

const ascending = (numbers: ReadonlyArray<number>): ReadonlyArray<number> =>
  [...numbers].sort((a, b) => a - b)

const laws = lawTable(world, play, {
  'Q1 what waits never exceeds a bound': ({ after }, { capacity, maxBytes }) => {
    for (const { waiting, bytes } of after)
      holds(waiting <= capacity && bytes <= maxBytes && bytes >= 0, `${String(waiting)} wait`)
  },
  'Q2 each accepted item is read, reported lost, or waits; exactly one of these': (trace) => {
    const { taken, read, lost, stats } = trace
    const out = [...read, ...lost]
    same(new Set(out).size, out.length)
    holds(
      out.every((n) => taken.includes(n)),
      'an item came out that was not accepted',
    )
    same(taken.length - out.length, stats.waiting)
  },
  'Q3 accepted = taken + dropped + abandoned + waiting, after every command': (trace) => {
    holds(
      trace.after.every(({ sum }) => sum),
      'the sum is wrong',
    )
    same(trace.stats.accepted, trace.taken.length)
    same(trace.stats.refused, trace.answers.length - trace.taken.length)
  },
  'Q4 items come out in the order of their offers': ({ read }) => same(read, ascending(read)),
  'Q5 no reader waits while an item waits, and nothing waits after the end': ({ after }, { commands }) => {
    for (const { unread, waiting } of after) holds(unread === 0 || waiting === 0, 'a reader waits')
    const end = commands.findIndex((each) => each.do === 'end' || each.do === 'leave')
    for (const { unread, notReady } of end < 0 ? [] : after.slice(end))
      holds(unread === 0 && notReady === 0, 'a caller waits after the end')
  },
  'Q6 ready resolves in the order of the calls': ({ ready }) => same(ready, ascending(ready)),
  'Q7 answers, counts and losses are those of a plain list': ({ wrong, lost, whyLost }, { overflow }) => {
    same(wrong, [])
    if (overflow === 'dropOldest') same(lost, ascending(lost))
    holds(
      whyLost.every((why) => why === overflow || why === 'Abandoned'),
      'lost for another reason',
    )
  },
  'Q8 ready resolves if and only if there is room': ({ after, readyWithRoom }, { capacity, maxBytes }) => {
    // 30 is the largest size that is offered.
    for (const { notReady, waiting, bytes } of after)
      holds(notReady === 0 || waiting >= capacity || bytes + 30 > maxBytes, 'a caller waits beside room')
    holds(
      readyWithRoom.every((room) => room),
      'ready without room',
    )
  },
})

export const pushLaws = laws.each

it('push keeps its laws', () => fc.assert(laws.all(push)))
