/**
 * The laws of any outbox: random commands, played on the outbox and on a model over plain arrays. `outboxLaws` takes a factory, so
 * every implementation is held to them; a durable one is also closed, lost and opened again.
 */
import { inspect, isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import type { Awaitable } from '../../src/core/awaitable.ts'
import type { Clock } from '../../src/core/clock.ts'
import * as Failure from '../../src/core/failure.ts'
import * as Outcome from '../../src/core/outcome.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import type { DeadLetter, EndedDeadLetter, Entry, Outbox } from '../../src/outbox/outbox.ts'

export interface Item {
  readonly n: number
  readonly size: number
  readonly text: string
}

export interface Bounds {
  readonly maxCount: number
  readonly maxBytes: number
  readonly keepDead: number
}

/** Where the outboxes of one run are. Opened again, a durable one holds what it held before. */
export interface Ground {
  readonly open: (bounds: Bounds, clock: Clock) => Outbox<Item>
  /** What a kill of the process leaves. Default: nothing happens, and `open` is called again without `close`. */
  readonly crash?: () => Awaitable<void>
  /** The run has ended. */
  readonly leave?: () => Awaitable<void>
  /** `nextDue` only says whether something is due now: of later moments `watch` tells. */
  readonly knowsOnlyNow?: boolean
}

export const LAWS = {
  kept: 'what was accepted and has not ended waits, and nothing else',
  once: 'a leased entry is not leased again, and no id is given twice',
  due: 'nothing is leased before it is due',
  order: 'retries come first, by due time and within the limit, then new entries in their order',
  retriesOnly: 'with retriesOnly no new entry is leased, and nextDue ignores them',
  remembers: 'an entry comes back as it was put back, and its item as it was given',
  bounds: 'an item is refused if it would break a bound, and only then, and the answer names the bound',
  stats: 'stats agree with what is there',
  wakes: 'nextDue is the due time of the first entry that is not leased',
  dead: 'rejected and expired items are dead letters, the newest are kept, and pages list them in order',
  redrives: 'a redriven item waits as a new one if there is room, and is no dead letter any more',
  purges: 'purge deletes the matching dead letters and no others',
  survives: 'a durable outbox keeps everything through crash and close; another one loses it',
  remaining: 'takeRemaining answers what is not leased; a durable outbox keeps it and answers nothing',
} as const
export type Law = keyof typeof LAWS

const text = (value: unknown): string =>
  inspect(value, { depth: 6, breakLength: Infinity, maxStringLength: 40 })
const hold = (law: Law, isHeld: boolean, detail: string): void => {
  if (!isHeld) throw new Error(`${law}: ${LAWS[law]}: ${detail}`)
}
const same = (law: Law, found: unknown, expected: unknown): void => {
  if (isDeepStrictEqual(found, expected)) return
  hold(law, false, `${text(found)} instead of ${text(expected)}`)
}

const item = fc.record({
  size: fc.constantFrom(0, 1, 7, 20),
  text: fc.constantFrom('', 'a', '{"a" : 1}', ' é\u2028😀\n', '\u0000', 'long '.repeat(900)),
})
const which = fc.array(fc.nat(7), { minLength: 1, maxLength: 4 })
/** The items whose number leaves `rest` when divided by `by`. */
const share = fc.constantFrom({ rest: 0, by: 1 }, { rest: 0, by: 2 }, { rest: 1, by: 3 }, { rest: 5, by: 5 })
/** A command with its weight. */
const say = <D extends string, F>(
  weight: number,
  name: D,
  fields: { [K in keyof F]: fc.Arbitrary<F[K]> },
) => ({
  weight,
  arbitrary: fc.record<F>(fields).map((given) => ({ ...given, do: name })),
})
const command = fc.oneof(
  say(24, 'enqueue', { items: fc.array(item, { maxLength: 4 }) }),
  say(24, 'lease', {
    count: fc.integer({ min: 0, max: 6 }),
    retries: fc.nat(4),
    retriesOnly: fc.constantFrom(false, false, false, true),
  }),
  say(16, 'nack', {
    which,
    delay: fc.constantFrom(0, 1, 1, 10, 50),
    isTried: fc.constantFrom(true, true, true, false),
  }),
  say(16, 'ack', {
    which,
    how: fc.constantFrom('delivered' as const, 'rejected' as const, 'expired' as const, 'dropped' as const),
  }),
  say(3, 'addDeadLetter', { item }),
  say(8, 'pass', { ms: fc.constantFrom(0, 1, 9, 40) }),
  say(3, 'redrive', { share }),
  say(2, 'purge', { share }),
  say(2, 'list', { limit: fc.integer({ min: 1, max: 3 }) }),
  say(1, 'takeRemaining', {}),
  say(1, 'crash', {}),
  say(1, 'reopen', {}),
)
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never
type How = Extract<Command, { do: 'ack' }>['how']

const world = fc.record({
  bounds: fc.record({
    maxCount: fc.constantFrom(3, 10, 1_000),
    maxBytes: fc.constantFrom(30, 100, 1_000_000),
    keepDead: fc.constantFrom(0, 2, 1_000),
  }),
  commands: fc.array(command, { minLength: 1, maxLength: 200, size: 'max' }),
})
type World = typeof world extends fc.Arbitrary<infer W> ? W : never

/** An entry in the model. A redriven one has no id until it is leased. */
interface Waiting {
  id: string | undefined
  readonly item: Item
  entry: Pick<Entry<Item>, 'firstAttemptAt' | 'progress'>
  /** Undefined: never put back. */
  due: number | undefined
  isLeased: boolean
}
const NEW = { firstAttemptAt: undefined, progress: undefined }
const isNew = ({ due, isLeased }: Waiting): boolean => due === undefined && !isLeased
const isRetry = ({ due, isLeased }: Waiting): boolean => due !== undefined && !isLeased

const outcomeOf = ({ item, firstAttemptAt = 0, progress }: Entry<Item>, how: How) => {
  const attempts = (progress?.attempts ?? 0) + 1
  const gone = { sink: 'a', failure: Failure.refused('status', { status: 410 }) }
  return {
    delivered: Outcome.delivered(item, attempts, { sink: 'a', status: 200 }),
    rejected: Outcome.rejected(item, attempts, Failure.allFailed([gone])),
    expired: Outcome.expired(item, Failure.expired(attempts, firstAttemptAt, Failure.retryable('timeout'))),
    dropped: Outcome.dropped(item, attempts, 'dropOldest'),
  }[how]
}

const START = 1_800_000_000_000

/** Plays one world on an outbox. Throws the law that it breaks. */
const play = async (ground: Ground, { bounds, commands }: World): Promise<void> => {
  let now = START
  const clock: Clock = { now: () => now, monotonic: () => now, schedule: () => () => undefined }
  let outbox = ground.open(bounds, clock)
  let waiting: Waiting[] = []
  let dead: Array<Omit<EndedDeadLetter<Item>, 'id'>> = []
  let leased: Array<Entry<Item>> = []
  const ids = new Set<string>()
  let numbers = 0

  const bytes = (): number => waiting.reduce((sum, one) => sum + one.item.size, 0)
  const boundFor = ({ size }: Item): 'count' | 'bytes' | undefined => {
    if (waiting.length >= bounds.maxCount) return 'count'
    return bytes() + size > bounds.maxBytes ? 'bytes' : undefined
  }
  const add = (given: Item, id: string | undefined): void => {
    if (id !== undefined) {
      hold('once', !ids.has(id), `the id ${id} was given before`)
      ids.add(id)
    }
    waiting.push({ id, item: given, entry: NEW, due: undefined, isLeased: false })
  }
  const addDead = (entry: Entry<Item>, outcome: Outcome.Outcome<Item>): void => {
    if (bounds.keepDead > 0)
      dead = [...dead, { reason: 'ended' as const, at: now, entry, outcome }].slice(-bounds.keepDead)
  }
  const number = (given: Omit<Item, 'n'>): Item => ({ ...given, n: numbers++ })

  const dueOf = (all: ReadonlyArray<Waiting>): number | undefined =>
    all.length === 0 ? undefined : Math.min(...all.map(({ due = 0 }) => due))
  const check = (law: Law): void => {
    const { waiting: count, bytes: size, dead: died, maxCount, maxBytes } = outbox.stats()
    same(law, [count, size, died], [waiting.length, bytes(), dead.length])
    same('bounds', [maxCount, maxBytes], [bounds.maxCount, bounds.maxBytes])
    const free = waiting.filter(({ isLeased }) => !isLeased)
    for (const [name, found, expected] of [
      ['wakes', outbox.nextDue(), dueOf(free)],
      ['retriesOnly', outbox.nextDue(true), dueOf(free.filter(isRetry))],
    ] as const)
      if (ground.knowsOnlyNow === true) same(name, (found ?? Infinity) <= now, (expected ?? Infinity) <= now)
      else same(name, found, expected)
  }

  const listed = async (limit: number): Promise<ReadonlyArray<DeadLetter<Item>>> => {
    const all: Array<DeadLetter<Item>> = []
    for (;;) {
      const after = all.at(-1)?.id
      const page = await outbox.dead.list({ limit, ...(after === undefined ? {} : { after }) })
      all.push(...page)
      if (page.length < limit) return all
      hold('dead', all.length <= dead.length, 'more pages than dead letters')
    }
  }
  const checkDead = async (limit: number): Promise<void> => {
    const found = await listed(limit)
    // The id of an item that was never enqueued is not known.
    const plain = ({ reason, at, entry, outcome }: (typeof dead)[number]) => {
      const { item, firstAttemptAt, progress } = entry
      return { reason, at, outcome, item, firstAttemptAt, progress }
    }
    same(
      'dead',
      found.map((each) => (each.reason === 'corrupt' ? each : plain(each))),
      dead.map(plain),
    )
    same('dead', new Set(found.map(({ id }) => id)).size, found.length)
  }

  const lease = async (count: number, retries: number, retriesOnly: boolean): Promise<void> => {
    const entries = await outbox.lease(now, { count, retries, retriesOnly })
    const due = waiting.filter((one) => isRetry(one) && (one.due ?? 0) <= now)
    const maxRetries = Math.min(count, retries, due.length)
    const retried = entries.slice(0, maxRetries)
    const fresh = retriesOnly ? [] : waiting.filter(isNew).slice(0, count - maxRetries)
    for (const { id, item: given } of entries) {
      hold('once', !leased.some((each) => each.id === id), `${id} is leased already`)
      const one = waiting.find((each) => each.item.n === given.n)
      hold('kept', one !== undefined, `${text(given)} was leased`)
      hold('due', (one?.due ?? 0) <= now, `${text(given)} is due at ${String(one?.due)}, leased at ${now}`)
    }
    if (retriesOnly) hold('retriesOnly', entries.length <= maxRetries, `${entries.length} were leased`)
    const dues = (all: ReadonlyArray<Waiting | undefined>) => all.map((one) => one?.due)
    const found = retried.map(({ id }) => due.find((one) => one.id === id))
    same(
      'order',
      dues(found),
      dues([...due].sort((a, b) => (a.due ?? 0) - (b.due ?? 0)).slice(0, maxRetries)),
    )
    same(
      'order',
      entries.slice(maxRetries).map((each) => each.item.n),
      fresh.map((each) => each.item.n),
    )
    for (const [at, one] of [...found, ...fresh].entries()) {
      const entry = entries[at]
      if (one === undefined || entry === undefined) continue
      hold('once', one.id === undefined ? !ids.has(entry.id) : one.id === entry.id, `the id of ${text(one)}`)
      const { item: given, firstAttemptAt, progress } = entry
      same('remembers', [given, { firstAttemptAt, progress }], [one.item, one.entry])
      one.id = entry.id
      one.isLeased = true
      ids.add(entry.id)
    }
    leased = [...leased, ...entries]
  }

  /** Some of the leased entries, each once, which are not leased any more. */
  const release = (positions: ReadonlyArray<number>): ReadonlyArray<Entry<Item>> => {
    const some = [...new Set(positions.map((each) => leased[each % leased.length]))].flatMap(
      (each) => each ?? [],
    )
    leased = leased.filter((each) => !some.includes(each))
    return some
  }
  const open = (): void => {
    waiting = outbox.durable ? waiting.map((one) => ({ ...one, isLeased: false })) : []
    leased = []
    if (!outbox.durable) {
      dead = []
      ids.clear()
    }
    outbox = ground.open(bounds, clock)
    check('survives')
  }
  const reopen = async (): Promise<void> => {
    await outbox.close()
    await outbox.close()
    open()
  }

  const step = async (each: Command): Promise<void> => {
    switch (each.do) {
      case 'enqueue': {
        const items = each.items.map(number)
        const answers = await outbox.enqueue(items)
        same('bounds', answers.length, items.length)
        for (const [at, given] of items.entries()) {
          const answer = answers[at]
          const bound = boundFor(given)
          same('bounds', answer?._tag === 'Left' ? answer.left.bound : undefined, bound)
          if (answer?._tag !== 'Right') continue
          same('remembers', { ...answer.right, id: '' }, { id: '', item: given, ...NEW })
          add(given, answer.right.id)
        }
        return
      }
      case 'lease':
        return lease(each.count, each.retries, each.retriesOnly)
      case 'nack': {
        const failure = Failure.retryable('status', { status: 503, notBefore: now + each.delay })
        const list = release(each.which).map((entry) => ({
          entry: !each.isTried
            ? entry
            : {
                ...entry,
                firstAttemptAt: entry.firstAttemptAt ?? now,
                progress: { attempts: (entry.progress?.attempts ?? 0) + 1, lastFailure: failure },
              },
          due: now + each.delay,
        }))
        await outbox.nack(list)
        for (const { entry, due } of list)
          for (const one of waiting.filter(({ id }) => id === entry.id)) {
            one.entry = { firstAttemptAt: entry.firstAttemptAt, progress: entry.progress }
            one.due = due
            one.isLeased = false
          }
        return
      }
      case 'ack': {
        const list = release(each.which).map((entry) => ({ entry, outcome: outcomeOf(entry, each.how) }))
        await outbox.ack(list)
        for (const { entry, outcome } of list) {
          waiting = waiting.filter(({ id }) => id !== entry.id)
          if (Outcome.isDead(outcome)) addDead(entry, outcome)
        }
        return
      }
      case 'addDeadLetter': {
        const given = number(each.item)
        const outcome = Outcome.rejected(given, 0, Failure.refused('full'))
        await outbox.addDeadLetter?.(given, outcome)
        if (outbox.addDeadLetter !== undefined) addDead({ id: '', item: given, ...NEW }, outcome)
        return
      }
      case 'pass':
        now += each.ms
        return
      case 'redrive': {
        const { rest, by } = each.share
        const before = dead.length
        const count = await outbox.dead.redrive(({ entry }) => entry.item.n % by === rest)
        dead = dead.filter(({ entry }) => {
          if (entry.item.n % by !== rest || boundFor(entry.item) !== undefined) return true
          add(entry.item, undefined)
          return false
        })
        same('redrives', count, before - dead.length)
        check('redrives')
        return
      }
      case 'purge': {
        const { rest, by } = each.share
        const before = dead.length
        dead = dead.filter(({ entry }) => entry.item.n % by !== rest)
        same(
          'purges',
          await outbox.dead.purge((one) => one.reason === 'ended' && one.entry.item.n % by === rest),
          before - dead.length,
        )
        return checkDead(100)
      }
      case 'list':
        return checkDead(each.limit)
      case 'takeRemaining': {
        const found = (await outbox.takeRemaining()).map((one) => one.item.n)
        const given = outbox.durable ? [] : waiting.filter(({ isLeased }) => !isLeased)
        same(
          'remaining',
          found.sort((a, b) => a - b),
          given.map((one) => one.item.n).sort((a, b) => a - b),
        )
        waiting = waiting.filter((one) => !given.includes(one))
        return
      }
      case 'crash':
        await ground.crash?.()
        open()
        return
      case 'reopen':
        return reopen()
    }
  }

  for (const each of commands) {
    await step(each)
    check('stats')
  }
  await reopen()
  await checkDead(100)
  now += 1_000
  const count = waiting.length
  await lease(count + 1, count + 1, false)
  hold('survives', leased.length === count, `${leased.length} of ${count} were there at the end`)
  await outbox.close()
}

/** All laws, over one kind of outbox. */
export const outboxLaws = (makeGround: () => Ground): fc.IAsyncProperty<[World]> =>
  fc.asyncProperty(world, async (each) => {
    const ground = makeGround()
    try {
      await play(ground, each)
    } finally {
      await ground.leave?.()
    }
  })

export const memoryGround: Ground = {
  open: (bounds, clock) => memoryOutbox<Item>({ ...bounds, sizeOf: ({ size }) => size, clock }),
}

describe('the laws of an outbox hold', () => it('in memory', () => fc.assert(outboxLaws(() => memoryGround))))
