import * as fc from 'fast-check'
import type { Awaitable } from '../../core/awaitable.ts'
import { messageOf, refused, retryable } from '../../core/failure.ts'
import { isDead, rejected } from '../../core/outcome.ts'
import type { Outcome } from '../../core/outcome.ts'
import { newId } from '../../event/payload.ts'
import type { DeadLetter, Entry, Outbox } from '../../outbox/outbox.ts'
import { scriptedDisk } from '../disk.ts'
import { virtualClock } from '../virtualClock.ts'
import type { VirtualClock } from '../virtualClock.ts'
import { lawsOver } from './law.ts'
import type { Law, Run } from './law.ts'
import {
  holds,
  isNew,
  isRetry,
  NEW,
  nextTimer,
  outboxRun,
  outcomeOf,
  OutboxFailure,
  same,
  settled,
  statements,
  text,
} from './outboxWorld.ts'
import type {
  Dead,
  MakeOutbox,
  OutboxCommand,
  OutboxItem,
  OutboxLaw,
  OutboxLawOptions,
  OutboxRun,
  Waiting,
} from './outboxWorld.ts'

/** Where a run takes its outboxes from. */
interface Storage {
  readonly clock: VirtualClock
  readonly open: () => Promise<Outbox<OutboxItem>>
  readonly crash: (keep: number | null) => Awaitable<void>
  readonly usesDisk: () => boolean
}

/** Plays the commands of a run on an outbox and on a model over plain arrays. Throws what is broken first. */
const play = async (
  storage: Storage,
  { bounds, commands }: OutboxRun,
  { reach, log }: Run,
): Promise<void> => {
  const { clock, open, crash } = storage
  const wait = <T>(asked: Awaitable<T>): Promise<T> => settled(clock, asked)
  let outbox = await open()
  let waiting: Waiting[] = []
  let dead: Dead[] = []
  let leased: Array<Entry<OutboxItem>> = []
  const ids = new Set<string>()
  let numbers = 0
  /** When the current command began. */
  let asked = clock.now()

  const bytes = (): number => waiting.reduce((sum, one) => sum + one.item.byteLength, 0)
  const boundFor = ({ byteLength }: OutboxItem): 'count' | 'bytes' | undefined => {
    if (waiting.length >= bounds.maxCount) return 'count'
    return bytes() + byteLength > bounds.maxBytes ? 'bytes' : undefined
  }
  const add = (given: OutboxItem, id: string | undefined): void => {
    if (id !== undefined) {
      holds('once', !ids.has(id), `the id ${id} was given before`)
      ids.add(id)
    }
    waiting.push({ id, item: given, entry: NEW, due: undefined, isLeased: false })
  }
  const addDead = (entry: Entry<OutboxItem>, outcome: Outcome<OutboxItem>): void => {
    if (bounds.keepDead === 0) return
    if (dead.length === bounds.keepDead) reach('evicts a dead letter')
    const one: Dead = { reason: 'ended', from: asked, to: clock.now(), entry, outcome }
    dead = [...dead, one].slice(-bounds.keepDead)
  }
  const number = (given: Omit<OutboxItem, 'n'>): OutboxItem => ({ ...given, n: numbers++ })

  const dueOf = (all: ReadonlyArray<Waiting>): number | undefined =>
    all.length === 0 ? undefined : Math.min(...all.map(({ due = 0 }) => due))
  const check = (law: OutboxLaw): void => {
    const { waiting: count, bytes: size, dead: died, maxCount, maxBytes } = outbox.stats()
    same(law, [count, size, died], [waiting.length, bytes(), dead.length])
    same('bounds', [maxCount, maxBytes], [bounds.maxCount, bounds.maxBytes])
    const free = waiting.filter(({ isLeased }) => !isLeased)
    same('wakes', [outbox.nextDue(), outbox.nextDue(true)], [dueOf(free), dueOf(free.filter(isRetry))])
  }

  const listed = async (limit: number): Promise<ReadonlyArray<DeadLetter<OutboxItem>>> => {
    const all: Array<DeadLetter<OutboxItem>> = []
    for (;;) {
      const after = all.at(-1)?.id
      const page = await wait(outbox.dead.list({ limit, ...(after === undefined ? {} : { after }) }))
      all.push(...page)
      if (page.length < limit) return all
      holds('dead', all.length <= dead.length, 'more pages than dead letters')
    }
  }
  const checkDead = async (limit: number): Promise<void> => {
    const found = await listed(limit)
    // The id of an item that was never enqueued is not known.
    const plain = ({ reason, entry, outcome }: Omit<Dead, 'from' | 'to'>) => {
      const { item: given, firstAttemptAt, progress } = entry
      return { reason, outcome, item: given, firstAttemptAt, progress }
    }
    same(
      'dead',
      found.map((each) => (each.reason === 'corrupt' ? each : plain(each))),
      dead.map(plain),
    )
    same('dead', new Set(found.map(({ id }) => id)).size, found.length)
    for (const [n, { from, to }] of dead.entries()) {
      const at = found[n]?.at ?? NaN
      holds('dead', from <= at && at <= to, `ended at ${text([at, from, to])}`)
    }
  }

  const lease = async (count: number, retries: number, retriesOnly: boolean): Promise<void> => {
    const now = clock.now()
    const due = waiting.filter((one) => isRetry(one) && (one.due ?? 0) <= now)
    const maxRetries = Math.min(count, retries, due.length)
    const fresh = retriesOnly ? [] : waiting.filter(isNew).slice(0, count - maxRetries)
    const entries = await wait(outbox.lease(now, { count, retries, retriesOnly }))
    const retried = entries.slice(0, maxRetries)
    for (const [at, { id, item: given }] of entries.entries()) {
      const isTwice = [...leased, ...entries.slice(0, at)].some((each) => each.id === id)
      holds('once', !isTwice, `${id} is leased already`)
      const one = waiting.find((each) => each.item.n === given.n)
      holds('remembers', one !== undefined, `${text(given)} was leased`)
      holds('order', (one?.due ?? 0) <= now, `${text(one)} is leased at ${String(now)}`)
    }
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
    if (maxRetries > 0) reach('leases a retry')
    for (const [at, one] of [...found, ...fresh].entries()) {
      const entry = entries[at]
      if (one === undefined || entry === undefined) continue
      holds('once', one.id === undefined ? !ids.has(entry.id) : one.id === entry.id, `the id of ${text(one)}`)
      const { item: given, firstAttemptAt, progress } = entry
      same('remembers', [given, { firstAttemptAt, progress }], [one.item, one.entry])
      one.id = entry.id
      one.isLeased = true
      ids.add(entry.id)
    }
    leased = [...leased, ...entries]
  }

  /** Some of the leased entries, each once, which are not leased any more. */
  const release = (positions: ReadonlyArray<number>): ReadonlyArray<Entry<OutboxItem>> => {
    const some = new Set(positions.flatMap((each) => leased[each % leased.length] ?? []))
    leased = leased.filter((each) => !some.has(each))
    return [...some]
  }
  const reopen = async (inDoubt: ReadonlyArray<OutboxItem> = []): Promise<void> => {
    if (waiting.length > 0) reach('opens again after entries')
    waiting = outbox.durable ? waiting.map((one) => ({ ...one, isLeased: false })) : []
    leased = []
    if (!outbox.durable) {
      dead = []
      ids.clear()
    }
    outbox = await open()
    const more = Math.max(0, outbox.stats().waiting - waiting.length)
    for (const given of inDoubt.slice(0, more)) add(given, undefined)
    check('survives')
  }
  const close = async (): Promise<void> => {
    await wait(outbox.close())
    await wait(outbox.close())
    await reopen()
  }

  const step = async (each: OutboxCommand): Promise<void> => {
    switch (each.do) {
      case 'enqueue': {
        const items = each.items.map(number)
        const answers = await wait(outbox.enqueue(items))
        same('bounds', answers.length, items.length)
        for (const [at, given] of items.entries()) {
          const answer = answers[at]
          const bound = boundFor(given)
          if (bound !== undefined) reach(`refuses by ${bound}`)
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
        const now = clock.now()
        const failure = retryable('status', { status: 503, notBefore: now + each.delay })
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
        await wait(outbox.nack(list))
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
        await wait(outbox.ack(list))
        for (const { entry, outcome } of list) {
          waiting = waiting.filter(({ id }) => id !== entry.id)
          if (isDead(outcome)) addDead(entry, outcome)
        }
        return
      }
      case 'addDeadLetter': {
        const given = number(each.item)
        const outcome = rejected(given, 0, refused('full'))
        if (outbox.addDeadLetter === undefined) return
        await wait(outbox.addDeadLetter(given, outcome))
        addDead({ id: '', item: given, ...NEW }, outcome)
        return
      }
      case 'pass':
        return clock.advance(each.ms)
      case 'redrive': {
        const { rest, by } = each.share
        const before = dead.length
        const count = await wait(outbox.dead.redrive(({ entry }) => entry.item.n % by === rest))
        dead = dead.filter(({ entry }) => {
          if (entry.item.n % by !== rest || boundFor(entry.item) !== undefined) return true
          add(entry.item, undefined)
          return false
        })
        if (dead.length < before) reach('redrives an item')
        same('redrives', count, before - dead.length)
        check('redrives')
        return
      }
      case 'purge': {
        const { rest, by } = each.share
        const before = dead.length
        dead = dead.filter(({ entry }) => entry.item.n % by !== rest)
        const isPurged = (one: DeadLetter<OutboxItem>): boolean =>
          one.reason === 'ended' && one.entry.item.n % by === rest
        same('dead', await wait(outbox.dead.purge(isPurged)), before - dead.length)
        return checkDead(100)
      }
      case 'list':
        return checkDead(each.limit)
      case 'takeRemaining': {
        const numbersOf = (all: ReadonlyArray<{ item: OutboxItem }>) => new Set(all.map((one) => one.item.n))
        const found = await wait(outbox.takeRemaining())
        const given = outbox.durable ? [] : waiting.filter(({ isLeased }) => !isLeased)
        same('remaining', [numbersOf(found), found.length], [numbersOf(given), given.length])
        waiting = waiting.filter((one) => !given.includes(one))
        return
      }
      case 'crash': {
        const before = waiting.length
        // They are never answered, so they may be stored or not.
        const items = storage.usesDisk() ? each.items.map(number) : []
        if (items.length > 0) {
          Promise.resolve(outbox.enqueue(items)).catch(() => undefined)
          for (let n = 0; n < each.timers; n++) await nextTimer(clock)
          await clock.settle()
        }
        for (const given of items) if (boundFor(given) === undefined) add(given, undefined)
        const inDoubt = waiting.slice(before).map((one) => one.item)
        waiting = waiting.slice(0, before)
        await wait(crash(each.keep))
        return reopen(inDoubt)
      }
      case 'reopen':
        return close()
    }
  }

  for (const each of commands) {
    log(`${String(clock.monotonic())} ms: ${text(each)}`)
    asked = clock.now()
    await step(each)
    check('stats')
  }
  log('closes, opens again, and leases all')
  await close()
  await checkDead(100)
  await clock.advance(1_000)
  const count = waiting.length
  await lease(count + 1, count + 1, false)
  holds(
    'survives',
    leased.length === count,
    `${String(leased.length)} of ${String(count)} were there at the end`,
  )
}

/** When a run starts, in milliseconds since 1970. */
const START = 1_800_000_000_000

/**
 * The laws of an outbox that one process uses: random commands, played on yours and on a model. A durable one is also closed, crashed
 * and opened again at its place. The size of an item is its `byteLength`.
 *
 * @example
 * import { memoryOutbox } from 'headrace'
 * import { checkLaws, outboxLaws } from 'headrace/testing/laws'
 *
 * const laws = outboxLaws(({ clock, bounds }) => memoryOutbox({ ...bounds, clock }))
 * const reports = await checkLaws(laws, { runs: 50, seed: 1 })
 * console.log(reports[0]?.text) // => outbox/answers is kept
 */
export const outboxLaws = (open: MakeOutbox, { crash, leave }: OutboxLawOptions = {}): ReadonlyArray<Law> => {
  /** What runs reached that broke nothing. With one seed each law has the same runs, so they are played once. */
  const good = new Map<number, ReadonlySet<string>>()

  const playAt = async (given: OutboxRun, run: Run): Promise<OutboxFailure | undefined> => {
    const key = fc.hash(JSON.stringify(given))
    const known = good.get(key)
    known?.forEach(run.reach)
    if (known !== undefined) return undefined
    const reached = new Set<string>()
    const reach = (situation: string): void => {
      reached.add(situation)
      run.reach(situation)
    }
    const clock = virtualClock({ start: START })
    let lines = 0
    const disk = scriptedDisk({
      clock,
      log: (line) => {
        lines++
        run.log(line)
      },
    })
    const world = { clock, bounds: given.bounds, disk, place: newId() }
    const opened: Array<Outbox<OutboxItem>> = []
    const storage: Storage = {
      clock,
      open: async () => {
        const outbox = await settled(clock, open(world))
        opened.push(outbox)
        return outbox
      },
      crash: (keep) => {
        disk.crash(keep === null ? {} : { keep })
        return crash?.(world.place)
      },
      usesDisk: () => lines > 0,
    }
    try {
      await play(storage, given, { ...run, reach })
      good.set(key, reached)
      return undefined
    } catch (error) {
      return error instanceof OutboxFailure ? error : new OutboxFailure('answers', messageOf(error))
    } finally {
      await Promise.allSettled(opened.map((each) => settled(clock, each.close())))
      await leave?.(world.place)
    }
  }
  return Object.entries(statements).flatMap(([name, text]) => {
    const check = (failure: OutboxFailure | undefined): void => {
      if (failure?.law === name) throw failure
    }
    return lawsOver('outbox', outboxRun, playAt, { [name]: { ...text, check } })
  })
}
