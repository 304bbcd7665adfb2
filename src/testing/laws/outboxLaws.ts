import * as fc from 'fast-check'
import { identity } from 'fp-ts/lib/function.js'
import { partitionWithIndex, separate, unzip, zip } from 'fp-ts/lib/ReadonlyArray.js'
import { isLeft } from '../../core/either.ts'
import { isPromiseLike, type Awaitable } from '../../core/awaitable.ts'
import { allFailed, expired, messageOf, refused, retryable } from '../../core/failure.ts'
import { delivered, dropped, expired as expiredOutcome, rejected } from '../../core/outcome.ts'
import { checkOptions, flag, func, oneOf, optional, strict } from '../../core/options.ts'
import { newId } from '../../event/payload.ts'
import { newEntry, type DeadLetter, type DeadPage, type Entry, type Outbox } from '../../outbox/outbox.ts'
import { scriptedDisk } from '../disk.ts'
import { virtualClock } from '../virtualClock.ts'
import { holds, same, lawsOver, type Law, type Run } from './law.ts'
import { outboxRun, settled, type OutboxRun } from './outboxWorld.ts'
import type { MakeOutbox, OutboxCommand, OutboxItem as Item, OutboxLawOptions } from './outboxWorld.ts'
import { plainOutbox } from './plainOutbox.ts'

const statements = {
  answers: 'Each call is answered, and none throws or rejects.',
  once: 'A leased entry is not leased again, and no id is given twice.',
  order: 'Due retries come by due time, within their limit; then new entries in order, unless retriesOnly.',
  remembers: 'An entry comes back as it was put back, its item as it was given, and nothing else comes.',
  bounds: 'An item is refused if it would break a bound, and only then, and the answer names the bound.',
  stats: 'The stats agree with what is there.',
  wakes: 'nextDue is never after the next entry is due, nor before it once a lease got fewer than asked.',
  dead: 'The newest rejected and expired items are kept as dead letters, listed in order, purged by match.',
  redrives: 'A redriven item waits as new if there is room, and is no dead letter any more. Its id is told.',
  repeats: 'An ack or a nack that answers with a promise may be repeated, and that does no harm.',
  survives: 'A durable outbox keeps everything through a crash and a close; another one loses it.',
  remaining: 'takeRemaining answers what is not leased; a durable outbox keeps it and answers nothing.',
}
const situations: Readonly<Record<string, ReadonlyArray<string>>> = {
  order: ['leases a retry'],
  remembers: ['leases a retry'],
  bounds: ['refuses by count', 'refuses by bytes'],
  wakes: ['leases fewer than asked'],
  dead: ['evicts a dead letter'],
  redrives: ['redrives an item', 'leases a redriven item'],
  survives: ['opens again after entries'],
}
const capabilities = strict({ order: optional(oneOf('due', 'none')), exactBytes: optional(flag) })
const hooks = { crash: optional(func()), leave: optional(func()), settle: optional(func()) }
const lawOptions = strict({ ...hooks, capabilities: optional(capabilities) })

type OutboxLaw = keyof typeof statements

type Difference = readonly [law: OutboxLaw, why: string]
/** Of the outbox under test, and of the reference. */
type Pair<T> = readonly [found: T, expected: T]
type Entries = ReadonlyArray<Entry<Item>>
type AskOutbox<T> = (asked: Outbox<Item>, entries: Entries) => Awaitable<T>
type CommandOf<Name> = Extract<OutboxCommand, { do: Name }>

const entryNumber = ({ item }: Entry<Item>): number => item.n
/** An entry without its id, which each outbox gives itself. */
const contentOf = ({ item, firstAttemptAt, progress }: Entry<Item>) => ({ item, firstAttemptAt, progress })
const deadLetterOf = (dead: DeadLetter<Item>) =>
  dead.reason === 'corrupt' ? dead : { outcome: dead.outcome, ...contentOf(dead.entry) }

const outcomesOf = (item: Item) => ({
  Delivered: delivered(item, 1, { sink: 'a', status: 200 }),
  Rejected: rejected(item, 1, refused('status', { status: 410 })),
  Expired: expiredOutcome(item, expired(1, 0, retryable('timeout'), 'deadline')),
  Dropped: dropped(item, 1, 'dropOldest'),
})

const ALL = { do: 'lease', count: 1_000, retries: 1_000, retriesOnly: false } as const
const END: ReadonlyArray<OutboxCommand> = [{ do: 'reopen' }, { do: 'list', limit: 1_000 }, ALL]

/** Gives the same commands to an outbox and to a reference in memory, and answers the first difference. */
const playOutbox = async (
  make: MakeOutbox,
  { crash, leave, settle, capabilities = {} }: OutboxLawOptions,
  { bounds: given, commands }: OutboxRun,
  { reach, log }: Run,
): Promise<Difference | undefined> => {
  const { order: promised = 'due', exactBytes = true } = capabilities
  const isOrdered = promised === 'due'
  const bounds = exactBytes ? given : { ...given, maxBytes: 1_000_000 }
  const clock = virtualClock()
  const disk = scriptedDisk({ clock, latency: 1, log })
  const world = { clock, bounds, disk, place: newId() }
  const wait = <T>(asked: Awaitable<T>): Promise<T> => settled(clock, asked)

  /** An error now breaks this law. */
  let law: OutboxLaw = 'answers'
  const under = (name: OutboxLaw, check: () => void): void => {
    law = name
    check()
    law = 'answers'
  }
  const compare = <T>(name: OutboxLaw, [found, expected]: Pair<T>, look: (answer: T) => unknown): void =>
    under(name, () => same(look(found), look(expected)))

  const opened: Array<Outbox<Item>> = []
  const open = async (): Promise<Outbox<Item>> => {
    const outbox = await wait(make(world))
    await wait(outbox.opened?.())
    opened.push(outbox)
    return outbox
  }
  /** The items of the last lease. */
  let order: ReadonlyArray<number> = []
  // Retries that are due at the same time come in any order: the reference follows the outbox.
  const rank = ({ n }: Item): number => [...order, n].indexOf(n)
  const newReference = () => plainOutbox<Item>(clock, bounds, ({ byteLength }) => byteLength, rank)
  let outbox = await open()
  let reference = newReference()
  let leased: ReadonlyArray<Pair<Entry<Item>>> = []
  /** The item of each id that was given. */
  const ids = new Map<string, number>()
  /** Items that came back from the dead letters, and were not put back since. */
  const redriven = new Set<number>()
  let numbers = 0
  let evictedBefore = 0
  /** Where the next page of dead letters begins, in both. */
  let page: { readonly found?: DeadPage; readonly expected?: DeadPage } = {}

  const both = async <T>(ask: AskOutbox<T>, [mine, others]: Pair<Entries> = [[], []]) =>
    [await wait(ask(outbox, mine)), await ask(reference.outbox, others)] as const
  /** Asks both to write. The relay repeats a rejected write; an answer that is no promise cannot reject. */
  const write = async (ask: AskOutbox<void>, [mine, others]: Pair<Entries>, twice: boolean) => {
    const answer = ask(outbox, mine)
    await wait(answer)
    await ask(reference.outbox, others)
    if (!twice || !isPromiseLike(answer)) return
    await both(ask, [mine, others])
    check('repeats')
  }
  const isDurable = (): boolean => outbox.keeps(newEntry('any', { n: 0, byteLength: 0, text: '' }))
  const number = (item: Omit<Item, 'n'>): Item => ({ ...item, n: numbers++ })
  const name = ({ id, item: { n } }: Entry<Item>): void => {
    under('once', () => holds((ids.get(id) ?? n) === n, `the id ${id} was given before`))
    ids.set(id, n)
  }
  /** Leased entries at these places, each once, which are not leased any more. */
  const release = (places: ReadonlyArray<number>): Pair<Entries> => {
    const chosen = new Set(places.map((place) => place % leased.length))
    const { left: rest, right: released } = partitionWithIndex((place) => chosen.has(place))(leased)
    leased = rest
    return unzip(released)
  }
  /** A store that others change knows when its next entry is due only after a lease of all that was due. */
  const checkDue = (isExact: boolean, isExactOfRetries: boolean): void => {
    const dues = ({ nextDue }: Outbox<Item>) => [nextDue() ?? Infinity, nextDue(true) ?? Infinity] as const
    const [[any, retry], [next, nextRetry]] = [dues(outbox), dues(reference.outbox)]
    const found = [isExact ? any : Math.max(any, next), isExactOfRetries ? retry : Math.max(retry, nextRetry)]
    const shown = ([all, old]: ReadonlyArray<number>) => ({ 'nextDue()': all, 'nextDue(true)': old })
    under('wakes', () => same(shown(found), shown([next, nextRetry])))
  }
  const check = (statsLaw: OutboxLaw): void => {
    const stats = [outbox.stats(), reference.outbox.stats()] as const
    compare(statsLaw, stats, ({ waiting, bytes, dead }) => ({ waiting, bytes: exactBytes && bytes, dead }))
    compare('bounds', stats, ({ maxCount, maxBytes }) => ({ maxCount, maxBytes }))
    if (isOrdered) checkDue(false, false)
    // A process counts its own.
    const [evicted, all] = [stats[0].evictedDeadLetters, stats[1].evictedDeadLetters - evictedBefore]
    if (bounds.keepDead === 0 || all === 0) return
    reach('evicts a dead letter')
    under('dead', () => holds(evicted !== 0, `evictedDeadLetters is 0, after ${String(all)}`))
  }
  /** The items in doubt were never answered, so they may be there or not. */
  const reopen = async (inDoubt: ReadonlyArray<Item>): Promise<void> => {
    if (reference.held.rows.length > 0) reach('opens again after entries')
    reference.leased.clear()
    evictedBefore = reference.outbox.stats().evictedDeadLetters
    leased = []
    page = {}
    outbox = await open()
    if (!isDurable()) {
      reference = newReference()
      evictedBefore = 0
      ids.clear()
    }
    for (const item of inDoubt)
      if (reference.held.rows.length < outbox.stats().waiting) reference.outbox.enqueue([item])
    check('survives')
    const waits = reference.held.rows.filter(({ due }) => due > 0).map(({ entry }) => entry)
    compare('survives', [[...(outbox.retries?.() ?? waits)], waits], (all) => new Set(all.map(entryNumber)))
  }

  const leaseDue = (): Entries => reference.outbox.lease(clock.now(), { count: Infinity, retries: Infinity })
  /** What an outbox without order leased, in the reference. */
  const follow = (entries: Entries): Entries => {
    const due = new Map(leaseDue().map((entry) => [entryNumber(entry), entry]))
    const isDue = (n: number): boolean => due.has(n)
    under('remembers', () => holds(order.every(isDue), `not due: ${String(order.filter((n) => !isDue(n)))}`))
    for (const [n, { id }] of due) if (!order.includes(n)) reference.leased.delete(id)
    return entries.flatMap((entry) => due.get(entryNumber(entry)) ?? [])
  }

  const play = async (command: OutboxCommand): Promise<void> => {
    const start = clock.monotonic()
    await (steps[command.do] as (each: OutboxCommand) => Awaitable<void>)(command)
    await settle?.(clock.monotonic() - start)
  }
  const steps: { readonly [Name in OutboxCommand['do']]: (command: CommandOf<Name>) => Awaitable<void> } = {
    enqueue: async (each) => {
      const items = each.items.map(number)
      const answers = await both((asked) =>
        each.atOnce
          ? Promise.all(items.map(async (item) => asked.enqueue([item]))).then((all) => all.flat())
          : asked.enqueue(items),
      )
      const { bytes } = reference.outbox.stats()
      const ends = answers[1].map((one) => (isLeft(one) ? one.left.bound : 'taken'))
      const found = answers[0].map((one, at) => {
        if (!isLeft(one)) return 'taken'
        // Of two broken bounds it may name either.
        const isBoth = ends[at] === 'count' && bytes + (items[at]?.byteLength ?? 0) > bounds.maxBytes
        return isBoth ? 'count' : one.left.bound
      })
      under('bounds', () => same(found, ends))
      compare('remembers', answers, (all) => separate(all).right.map(contentOf))
      separate(answers[0]).right.forEach(name)
      for (const { bound } of separate(answers[1]).left) reach(`refuses by ${bound}`)
    },
    lease: async (limits) => {
      const now = clock.now()
      const contents = new Map(reference.held.rows.map(({ entry }) => [entryNumber(entry), contentOf(entry)]))
      const entries = await wait(outbox.lease(now, limits))
      order = entries.map(entryNumber)
      const expected = isOrdered ? reference.outbox.lease(now, limits) : follow(entries)
      const all = [...leased.map(([one]) => one), ...entries].map(entryNumber)
      under('once', () => holds(new Set(all).size === all.length, `leased at once: ${all.join(', ')}`))
      entries.forEach(name)
      for (const entry of entries) {
        const isRedriven = redriven.has(entryNumber(entry))
        if (isRedriven) reach('leases a redriven item')
        const found = [contentOf(entry), contents.get(entryNumber(entry))] as const
        compare(isRedriven ? 'redrives' : 'remembers', found, identity)
      }
      compare('order', [entries, expected], (all) => all.map(entryNumber))
      leased = [...leased, ...zip(entries, expected)]
      const { count, retries, retriesOnly } = limits
      if (isOrdered && expected.length < count && retries >= count) {
        if (!retriesOnly) reach('leases fewer than asked')
        checkDue(!retriesOnly, true)
      }
      if (expected.some(({ progress }) => progress !== undefined)) reach('leases a retry')
    },
    nack: async ({ which, delay, twice }) => {
      const now = clock.now()
      const due = now + delay
      const failure = retryable('status', { status: 503, notBefore: due })
      const lastFailure = allFailed([{ sink: 'a', failure }])
      const tried = delay > 0 && { firstAttemptAt: now, progress: { attempts: numbers, lastFailure } }
      const put = (entry: Entry<Item>) => ({ entry: { ...entry, ...tried }, due })
      const released = release(which)
      for (const { item } of released[1]) redriven.delete(item.n)
      await write((asked, entries) => asked.nack(entries.map(put)), released, twice)
    },
    ack: async ({ which, how, twice }) => {
      const end = (entry: Entry<Item>) => ({ entry, outcome: outcomesOf(entry.item)[how] })
      await write((asked, entries) => asked.ack(entries.map(end)), release(which), twice)
    },
    bury: async ({ which }) => {
      await play({ do: 'nack', which, delay: 1, twice: false })
      await play({ do: 'pass', ms: 1 })
      await play({ do: 'lease', count: which.length, retries: which.length, retriesOnly: true })
      await steps.ack({ do: 'ack', which: leased.map((_, at) => at), how: 'Expired', twice: false })
    },
    addDeadLetter: async (each) => {
      const item = number(each.item)
      const outcome = rejected(item, 0, refused('noRoom'))
      if (outbox.addDeadLetter !== undefined) await both((asked) => asked.addDeadLetter?.(item, outcome))
    },
    pass: ({ ms }) => clock.advance(ms),
    redrive: async ({ divisor }) => {
      const before = new Set(reference.held.rows.map(({ entry }) => entryNumber(entry)))
      const dead = await both(({ dead }) => dead.list())
      const moved = await both(({ dead }) => dead.redrive(({ entry }) => entry.item.n % divisor === 0))
      const itemOf = (at: 0 | 1) => (id: string) =>
        dead[at].flatMap((one) => (one.id === id && one.reason === 'ended' ? entryNumber(one.entry) : []))
      const items = [moved[0].map(itemOf(0)), moved[1].map(itemOf(1))] as const
      compare('redrives', items, (all) => all.flat().sort((a, b) => a - b))
      if (moved[1].length === 0) return
      reach('redrives an item')
      for (const { entry } of reference.held.rows)
        if (!before.has(entryNumber(entry))) redriven.add(entryNumber(entry))
      await settle?.(0)
      await steps.lease({ do: 'lease', count: 1_000, retries: 0, retriesOnly: false })
    },
    purge: async ({ divisor }) => {
      const isPurged = (one: DeadLetter<Item>) => one.reason === 'ended' && one.entry.item.n % divisor === 0
      compare('dead', await both(({ dead }) => dead.purge(isPurged)), identity)
    },
    list: async ({ limit }) => {
      const found = await wait(outbox.dead.list({ ...page.found, limit }))
      const expected = reference.outbox.dead.list({ ...page.expected, limit })
      compare('dead', [found, expected], (all) => all.map(deadLetterOf))
      const isNow = found.every(({ at }, n) => Math.abs(at - (expected[n]?.at ?? at)) < 60_000)
      const times = found.map(({ at }) => at).join(', ')
      under('dead', () => holds(isNow, `at: ${times}, now: ${String(clock.now())}`))
      under('dead', () => same(new Set(found.map(({ id }) => id)).size, found.length))
      const [last, other] = [found.at(-1), expected.at(-1)]
      page = last && other ? { found: { after: last.id }, expected: { after: other.id } } : {}
    },
    takeRemaining: async () => {
      const found = await wait(outbox.takeRemaining())
      const limits = { count: isDurable() ? 0 : Infinity, retries: Infinity }
      const expected = reference.outbox.lease(Infinity, limits)
      compare('remaining', [found, expected], (all) => all.map(entryNumber).sort((a, b) => a - b))
      reference.outbox.ack(expected.map((entry) => ({ entry, outcome: outcomesOf(entry.item).Dropped })))
    },
    crash: async (each) => {
      const isOnDisk = (await wait(disk.list())).length > 0
      const items = isOnDisk ? each.items.map(number) : []
      if (items.length > 0) Promise.resolve(outbox.enqueue(items)).catch(() => undefined)
      await clock.advance(each.after)
      disk.crash(each.keep === null ? {} : { keep: each.keep })
      // Its wait for the disk never ends, so it cannot be closed.
      if (isOnDisk) opened.pop()
      await crash?.(world.place)
      await reopen(items)
    },
    reopen: async () => {
      await wait(outbox.close())
      await wait(outbox.close())
      await reopen([])
    },
  }

  try {
    for (const some of [commands, END]) {
      for (const each of some) {
        log(`${String(clock.monotonic())} ms: ${JSON.stringify(each)}`)
        await play(each)
        check('stats')
      }
      if (isOrdered) continue
      // Without order a lease may give a part.
      do await play(ALL)
      while (order.length > 0)
      under('remembers', () => same(leaseDue().map(entryNumber), []))
    }
    return undefined
  } catch (error) {
    return [law, messageOf(error)]
  } finally {
    for (const each of opened) await wait(each.close()).catch(() => undefined)
    await leave?.(world.place)
  }
}

/**
 * The laws of an outbox that one process uses: random commands, given to yours and to a plain one in memory.
 * A durable one is also closed, crashed and opened again at its place. The size of an item is its
 * `byteLength`.
 *
 * @example
 * import { memoryOutbox } from 'headrace/outbox'
 * import { checkLaws, outboxLaws } from 'headrace/testing/laws'
 *
 * const laws = outboxLaws(({ clock, bounds }) => memoryOutbox({ ...bounds, clock }))
 * const reports = await checkLaws(laws, { runs: 50, seed: 1 })
 * console.log(reports[0]?.text) // => outbox/answers is kept
 */
export const outboxLaws = (make: MakeOutbox, options: OutboxLawOptions = {}): ReadonlyArray<Law> => {
  const { order, exactBytes } = checkOptions('options of outboxLaws', lawOptions, options).capabilities ?? {}
  /** The situations of runs that broke nothing. With one seed each law has the same runs, played once. */
  const good = new Map<number, ReadonlySet<string>>()
  const playOnce = async (given: OutboxRun, { reach, log }: Run) => {
    const key = fc.hash(JSON.stringify(given))
    const reached = new Set(good.get(key))
    const run: Run = { reach: (situation) => void reached.add(situation), log }
    // Without an outbox at the start no call is answered.
    const unopened = (error: unknown): Difference => ['answers', messageOf(error)]
    const failure = good.has(key) ? undefined : await playOutbox(make, options, given, run).catch(unopened)
    reached.forEach(reach)
    if (failure === undefined) good.set(key, reached)
    return failure
  }
  return Object.entries(statements).flatMap(([name, statement]) => {
    if (order === 'none' && (name === 'order' || name === 'wakes')) return []
    const aims = (situations[name] ?? []).filter((one) => exactBytes !== false || one !== 'refuses by bytes')
    const check = (failure: Difference | undefined): void => holds(failure?.[0] !== name, failure?.[1] ?? '')
    const one = { statement, situations: aims, check }
    return lawsOver('outbox', outboxRun, playOnce, { [name]: one })
  })
}
