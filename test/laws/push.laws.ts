import type { Either } from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { it } from 'vitest'
import { push, type NotTaken, type Push, type PushOptions } from '../../src/sources/push.ts'
import { holds, lawTable, same, turns, type Drawn } from '../support/check.ts'

export type Item = Readonly<{ n: number; size: number }>
export type MakePush = (options: PushOptions<Item>) => Push<Item>
const size = fc.oneof(fc.nat({ max: 12 }), fc.constantFrom(0, 1, 30, NaN, -1))

/** A command has all fields, and reads those that it needs. `ready` waits for room; `later` is what is offered then, if anything. */
const command = fc.record({
  do: fc.oneof(
    { weight: 36, arbitrary: fc.constant('offer' as const) },
    { weight: 20, arbitrary: fc.constant('read' as const) },
    { weight: 18, arbitrary: fc.constant('ready' as const) },
    { weight: 1, arbitrary: fc.constantFrom('end' as const, 'leave' as const) },
  ),
  size,
  times: fc.integer({ min: 1, max: 4 }),
  later: fc.option(fc.nat({ max: 12 })),
})
type Command = Drawn<typeof command>

const world = fc.record({
  maxCount: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constant(12)),
  maxBytes: fc.constantFrom(12, 20, 1_000_000),
  overflow: fc.constantFrom('error' as const, 'error' as const, 'dropNewest' as const, 'dropOldest' as const),
  commands: fc.array(command, { maxLength: 30, size: 'max' }),
})
type World = Drawn<typeof world>

/** What a source shows: its answers, what was read and lost, and how many readers wait. */
const nothing = () => ({ answers: [] as string[], read: [] as number[], lost: [] as string[], readers: 0 })

const plainList = ({ maxCount, maxBytes, overflow }: World) => {
  const held: Item[] = []
  const shown = nothing()
  const counts = { accepted: 0, taken: 0, dropped: 0, abandoned: 0, refused: 0 }
  let hasEnded = false
  const bytes = (): number => held.reduce((sum, item) => sum + item.size, 0)
  const boundFor = (item: Item): string | undefined => {
    if (held.length >= maxCount) return `Full count ${String(maxCount)}`
    return bytes() + item.size > maxBytes ? `Full bytes ${String(maxBytes)}` : undefined
  }
  const lose = (item: Item | undefined, why: string): void => {
    if (item !== undefined) shown.lost.push(`${why} ${String(item.n)}`)
  }
  const serve = (): void => {
    while (shown.readers > 0 && (held.length > 0 || hasEnded)) {
      shown.readers--
      const first = held.shift()
      if (first === undefined) continue
      counts.taken++
      shown.read.push(first.n)
    }
  }
  const answerTo = (item: Item): string => {
    if (hasEnded) return 'Closed'
    if (!(item.size >= 0 && item.size <= maxBytes)) return 'TooLarge'
    const bound = boundFor(item)
    if (bound !== undefined && overflow === 'error') return bound
    counts.accepted++
    if (bound !== undefined && overflow === 'dropNewest') {
      counts.dropped++
      lose(item, overflow)
      return 'taken'
    }
    for (; boundFor(item) !== undefined; counts.dropped++) lose(held.shift(), overflow)
    held.push(item)
    return 'taken'
  }
  return {
    offer: (item: Item): void => {
      const answer = answerTo(item)
      shown.answers.push(answer)
      if (answer !== 'taken') counts.refused++
      serve()
    },
    read: (): void => {
      shown.readers++
      serve()
    },
    end: (): void => {
      hasEnded = true
      serve()
    },
    leave: (): void => {
      counts.abandoned += held.length
      for (const item of held.splice(0)) lose(item, 'Abandoned')
    },
    shown: () => structuredClone({ ...shown, stats: { ...counts, waiting: held.length, bytes: bytes() } }),
  }
}

type Shown = ReturnType<ReturnType<typeof plainList>['shown']>

const answerOf = (answer: Either<NotTaken, void>): string => {
  if (answer._tag === 'Right') return 'taken'
  const refusal = answer.left
  return refusal._tag === 'Full' ? `Full ${refusal.bound} ${String(refusal.limit)}` : refusal._tag
}

const play = async (make: MakePush, asked: World) => {
  const { commands, ...options } = asked
  /** After each command, when everything has settled. */
  const after: Array<{ shown: Shown; expected: Shown; notReady: number }> = []
  /** Callers of `ready`, in the order in which it resolved, and whether there was room then. */
  const trace = { after, ready: [] as number[], readyWithRoom: [] as boolean[] }
  const shown = nothing()
  const list = plainList(asked)
  let offered = 0
  let waiters = 0
  let hasEnded = false
  const source = make({
    ...options,
    sizeOf: (item) => item.size,
    onDropped: (outcome) => {
      const why = outcome._tag === 'Dropped' ? outcome.reason : outcome._tag
      shown.lost.push(`${why} ${String(outcome.item.n)}`)
    },
  })
  const reader = source[Symbol.asyncIterator]()

  const offer = (bytes: number): void => {
    const item = { n: offered++, size: bytes }
    list.offer(item)
    shown.answers.push(answerOf(source.offer(item)))
  }

  const obey = (each: Command): void => {
    switch (each.do) {
      case 'offer':
        for (let i = 0; i < each.times; i++) offer(each.size)
        return
      case 'read':
        for (let i = 0; i < each.times; i++) {
          list.read()
          shown.readers++
          void reader.next().then((result) => {
            shown.readers--
            if (result.done !== true) shown.read.push(result.value.n)
          })
        }
        return
      case 'ready': {
        const waiter = waiters++
        void source.ready().then(() => {
          trace.ready.push(waiter)
          trace.readyWithRoom.push(hasEnded || source.stats().waiting < options.maxCount)
          if (each.later !== null) offer(each.later)
        })
        return
      }
      default:
        hasEnded = true
        if (each.do === 'leave') list.leave()
        list.end()
        if (each.do === 'end') source.end()
        else void reader.return?.()
    }
  }

  for (const each of commands) {
    obey(each)
    await turns(2 + waiters - trace.ready.length)
    const now = structuredClone({ ...shown, stats: source.stats() })
    trace.after.push({ shown: now, expected: list.shown(), notReady: waiters - trace.ready.length })
  }
  return { ...trace, hasEnded }
}

const laws = lawTable(world, play, {
  'Q1 answers, items, losses, waiting readers and counters are those of a plain list': ({ after }) =>
    after.forEach(({ shown, expected }) => same(shown, expected)),
  'Q2 ready resolves in the order of the calls': ({ ready }) =>
    holds(!ready.some((waiter, n) => waiter < (ready[n - 1] ?? 0)), 'one passed another'),
  'Q3 ready resolves if and only if there is room, or after the end': (trace, { maxCount, maxBytes }) => {
    // 30 is the largest size that is offered.
    for (const { notReady, shown } of trace.after) {
      const { waiting, bytes } = shown.stats
      holds(notReady === 0 || waiting >= maxCount || bytes + 30 > maxBytes, 'a caller waits beside room')
    }
    holds(!trace.readyWithRoom.includes(false), 'ready without room')
    holds(!trace.hasEnded || trace.after.at(-1)?.notReady === 0, 'a caller waits after the end')
  },
})

export const pushLaws = laws.each

it('push keeps its laws', () => fc.assert(laws.all(push)))
