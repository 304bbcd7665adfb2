/** Does to an outbox what a world says, and holds each answer against the model. */
import type { Clock } from '../../src/core/clock.ts'
import * as Failure from '../../src/core/failure.ts'
import * as Outcome from '../../src/core/outcome.ts'
import type { DeadLetter, Entry, Outbox } from '../../src/outbox/outbox.ts'
import { LAWS, hold, same, text } from './outboxLaw.ts'
import type { Law } from './outboxLaw.ts'
import {
  afterwards,
  boundFor,
  bury,
  bytesOf,
  end,
  enter,
  goBack,
  goOut,
  model,
  redrive,
} from './outboxModel.ts'
import type { Letter, Model, Waiting } from './outboxModel.ts'
import type { Bounds, Ground, How, Item } from './outboxWorld.ts'

const START = 1_800_000_000_000

/** An outbox under test, with its model beside it. */
export interface Play {
  readonly model: Model
  readonly append: (items: ReadonlyArray<Item>) => Promise<void>
  readonly take: (limit: number, parked: number) => Promise<ReadonlyArray<Entry<Item>>>
  readonly park: (entries: ReadonlyArray<Entry<Item>>, delay: number, tried: boolean) => Promise<void>
  readonly end: (entries: ReadonlyArray<Entry<Item>>, how: How) => Promise<void>
  readonly bury: (item: Item) => Promise<void>
  readonly pass: (ms: number) => void
  readonly redrive: (matches: (item: Item) => boolean) => Promise<void>
  readonly purge: (matches: (item: Item) => boolean) => Promise<void>
  readonly list: (limit: number) => Promise<void>
  readonly abandon: () => Promise<void>
  /** Loses it and opens it anew. */
  readonly crash: () => Promise<void>
  readonly reopen: () => Promise<void>
  /** What holds at any moment. */
  readonly check: (law?: Law) => void
  readonly close: () => Promise<void>
}

const outcomeOf = (
  { item, firstAttemptAt, progress }: Entry<Item>,
  how: How,
  at: number,
): Outcome.Outcome<Item> => {
  const attempts = (progress?.attempts ?? 0) + 1
  const failure = Failure.allFailed([{ sink: 'a', failure: Failure.refused('status', { status: 410 }) }])
  switch (how) {
    case 'delivered':
      return Outcome.delivered(item, attempts, { sink: 'a', status: 200 })
    case 'rejected':
      return Outcome.rejected(item, attempts, failure)
    case 'expired':
      return Outcome.expired(
        item,
        Failure.expired(attempts, firstAttemptAt ?? at, Failure.retryable('timeout')),
      )
    case 'dropped':
      return Outcome.dropped(item, attempts, 'dropOldest')
  }
}

const isFresh = ({ due, out }: Waiting): boolean => due === undefined && !out
const isParked = ({ due, out }: Waiting): boolean => due !== undefined && !out

export const play = (ground: Ground, bounds: Bounds): Play => {
  const of = model(bounds)
  let now = START
  const clock: Clock = { now: () => now, monotonic: () => now, schedule: () => () => undefined }
  let outbox: Outbox<Item> = ground.open(bounds, clock)

  const check = (law: Law = 'stats'): void => {
    const { waiting, bytes, dead, maxCount, maxBytes } = outbox.stats()
    const expected = { waiting: of.waiting.length, bytes: bytesOf(of), dead: of.dead.length }
    same(law, { waiting, bytes, dead }, expected)
    same('bounds', { maxCount, maxBytes }, { maxCount: bounds.maxCount, maxBytes: bounds.maxBytes })
    hold('bounds', waiting <= maxCount && bytes <= maxBytes, `${waiting} items and ${bytes} bytes wait`)
    const dues = of.waiting.filter(isParked).map(({ due = 0 }) => due)
    const next = of.waiting.some(isFresh) ? 0 : dues.length > 0 ? Math.min(...dues) : undefined
    if (ground.knowsOnlyWhatIsDue === true)
      same('wakes', (outbox.nextDue() ?? Infinity) <= now, (next ?? Infinity) <= now)
    else same('wakes', outbox.nextDue(), next)
  }

  /** The one in the model that an entry must be. */
  const matching = (entry: Entry<Item>, among: ReadonlyArray<Waiting>): Waiting => {
    const known = among.find(({ id }) => id === entry.id)
    const one = known ?? among.find(({ id }) => id === undefined)
    if (one === undefined) throw new Error(`${LAWS.kept}: ${text(entry)} was handed out`)
    hold('once', known !== undefined || !of.ids.has(entry.id), `the id ${entry.id} was given before`)
    same('identical', entry.item, one.item)
    same(
      one.id === undefined ? 'redrives' : 'remembers',
      [entry.firstAttemptAt, entry.progress],
      [one.firstAttemptAt, one.progress],
    )
    return one
  }

  const takeParked = (entries: ReadonlyArray<Entry<Item>>, most: number): ReadonlyArray<Waiting> => {
    const parked = of.waiting.filter(isParked)
    const due = parked.filter((one) => (one.due ?? 0) <= now)
    const isRetry = ({ id }: Entry<Item>): boolean => parked.some((one) => one.id === id)
    const count = entries.findIndex((entry) => !isRetry(entry))
    const first = (count < 0 ? entries : entries.slice(0, count)).map((entry) => matching(entry, parked))
    hold('order', !entries.slice(first.length).some(isRetry), 'a retry came after a new one')
    for (const one of first) hold('due', due.includes(one), `due at ${String(one.due)}, handed out at ${now}`)
    same('order', first.length, Math.min(most, due.length))
    const dues = first.map((one) => one.due ?? 0)
    same(
      'order',
      dues,
      due
        .map((one) => one.due ?? 0)
        .sort((a, b) => a - b)
        .slice(0, first.length),
    )
    return first
  }

  const take: Play['take'] = async (limit, parked) => {
    const entries = await outbox.take(now, limit, parked)
    hold('once', new Set(entries.map(({ id }) => id)).size === entries.length, 'an entry twice in one answer')
    for (const { id } of entries) {
      const out = of.waiting.some((one) => one.out && one.id === id)
      hold('once', !out, `${id} is out already`)
    }
    const first = takeParked(entries, Math.min(limit, parked))
    const fresh = of.waiting.filter(isFresh).slice(0, limit - first.length)
    const rest = entries.slice(first.length)
    for (const { item } of rest)
      hold(
        'kept',
        of.waiting.some((one) => one.item.n === item.n),
        `${text(item)} was handed out`,
      )
    same(
      'order',
      rest.map(({ item }) => item.n),
      fresh.map(({ item }) => item.n),
    )
    for (const [at, entry] of rest.entries()) matching(entry, fresh.slice(at, at + 1))
    for (const [at, one] of [...first, ...fresh].entries()) goOut(of, one, entries[at]?.id ?? '')
    return entries
  }

  const list = async (limit: number): Promise<ReadonlyArray<DeadLetter<Item>>> => {
    const all: Array<DeadLetter<Item>> = []
    for (;;) {
      const after = all.at(-1)?.id
      const page = await outbox.dead.list({ limit, ...(after === undefined ? {} : { after }) })
      all.push(...page)
      if (page.length < limit) return all
      hold('letters', all.length <= of.dead.length, 'more pages than letters')
    }
  }

  const checkLetters = async (limit: number): Promise<void> => {
    const found = await list(limit)
    const bare = found.map(({ at, entry, outcome }): Letter => ({ at, entry, outcome }))
    // The id of one that was never let in is the outbox's own affair.
    const idless = (letters: ReadonlyArray<Letter>): unknown =>
      letters.map(({ at, entry: { item, firstAttemptAt, progress }, outcome }) => ({
        at,
        item,
        firstAttemptAt,
        progress,
        outcome,
      }))
    same('letters', idless(bare), idless(of.dead))
    hold('letters', new Set(found.map(({ id }) => id)).size === found.length, 'two letters have one id')
  }

  const begin = (): void => {
    afterwards(of, outbox.durable)
    outbox = ground.open(bounds, clock)
    check('survives')
  }

  return {
    model: of,
    check,
    take,
    append: async (items) => {
      const answers = await Promise.all(items.map(async (item) => outbox.append(item)))
      for (const [at, item] of items.entries()) {
        const answer = answers[at]
        const bound = boundFor(of, item)
        const found = answer?._tag === 'Left' ? answer.left.bound : undefined
        same('bounds', found, bound)
        if (answer?._tag !== 'Right') continue
        hold('once', !of.ids.has(answer.right.id), `the id ${answer.right.id} was given before`)
        same('identical', answer.right.item, item)
        enter(of, answer.right)
      }
    },
    park: async (entries, delay, tried) => {
      const failure = Failure.retryable('status', { status: 503, notBefore: now + delay })
      const back = entries.map((entry): Entry<Item> => {
        if (!tried) return entry
        const attempts = (entry.progress?.attempts ?? 0) + 1
        return {
          ...entry,
          firstAttemptAt: entry.firstAttemptAt ?? now,
          progress: { attempts, lastFailure: failure },
        }
      })
      await Promise.all(back.map(async (entry) => outbox.park(entry, now + delay)))
      for (const entry of back) goBack(of, entry, now + delay)
    },
    end: async (entries, how) => {
      const ended = entries.map((entry) => [entry, outcomeOf(entry, how, now)] as const)
      await Promise.all(ended.map(async ([entry, outcome]) => outbox.end(entry, outcome)))
      for (const [entry, outcome] of ended) end(of, entry, outcome, now)
    },
    bury: async (item) => {
      const outcome = Outcome.rejected(item, 0, Failure.refused('noRoom'))
      await outbox.bury?.(item, outcome)
      if (outbox.bury === undefined) return
      bury(of, { at: now, entry: { id: '', item, firstAttemptAt: undefined, progress: undefined }, outcome })
    },
    pass: (ms) => {
      now += ms
    },
    redrive: async (matches) => {
      same('redrives', await outbox.dead.redrive(({ entry }) => matches(entry.item)), redrive(of, matches))
      check('redrives')
    },
    purge: async (matches) => {
      const kept = of.dead.filter(({ entry }) => !matches(entry.item))
      const count = of.dead.length - kept.length
      of.dead = kept
      same('purges', await outbox.dead.purge(({ entry }) => matches(entry.item)), count)
    },
    list: checkLetters,
    abandon: async () => {
      const found = (await outbox.abandon()).map(({ item }) => item.n).sort((a, b) => a - b)
      const given = outbox.durable ? [] : of.waiting.filter(({ out }) => !out)
      same(
        'abandons',
        found,
        given.map(({ item }) => item.n).sort((a, b) => a - b),
      )
      of.waiting = of.waiting.filter((one) => !given.includes(one))
    },
    crash: async () => {
      await ground.crash()
      begin()
    },
    reopen: async () => {
      await outbox.close()
      begin()
    },
    close: () => outbox.close(),
  }
}
