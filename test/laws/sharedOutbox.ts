/** What two relays over one store must do together. */
import * as fc from 'fast-check'
import { play } from '../outbox/server/play.ts'
import type { Makes, Trace } from '../outbox/server/play.ts'
import { world } from '../outbox/server/worlds.ts'
import type { World } from '../outbox/server/worlds.ts'

/** What is wrong with a trace, or nothing. */
type Broken = (trace: Trace, world: World, exact: boolean) => string | undefined

const times = (all: ReadonlyArray<number>, item: number): number => all.filter((each) => each === item).length

const isCalm = ({ troubles }: World): boolean => troubles.length === 0

export const SHARED_LAWS = {
  ends: 'what is in keeping ends once, and at most twice where a lease could be lost',
  unseen: 'what was rolled back is never seen',
  apart: 'two relays never have one entry at the same time, unless a lease was lost',
  identity: 'the books add up at every moment, and no count is below zero',
  agree: 'when everything has ended nothing waits, and what all accepted is what was given',
  still: 'when everything has ended no timer is left, and nobody asks',
  leaves: 'after the close no listener is left, and no timer',
} as const

const laws: Readonly<Record<keyof typeof SHARED_LAWS, Broken>> = {
  ends: ({ kept, doubted, ended, left }, { troubles }) => {
    if (left.rows > 0) return `${left.rows} never ended`
    const items = ended.map(({ outcome }) => outcome.item)
    const most = 1 + troubles.filter(({ is }) => is !== 'death').length
    for (const item of new Set([...items, ...kept])) {
      const count = times(items, item)
      // Of a process that died nobody heard how what it had ended did end.
      const isUnheard = count === 0 && (doubted.includes(item) || troubles.some(({ is }) => is === 'death'))
      if ((count < 1 && !isUnheard) || count > most) return `${item} ended ${count} times`
    }
    return undefined
  },
  unseen: ({ asks, ended }, { items }) => {
    const seen = [...asks.map(({ item }) => item), ...ended.map(({ outcome }) => outcome.item)]
    const wrong = seen.find((item) => items[item]?.how === 'rolledBack')
    return wrong === undefined ? undefined : `${wrong} was seen`
  },
  apart: ({ asks }, each) => {
    if (!isCalm(each)) return undefined
    const both = asks.find((one) =>
      asks.some(
        (other) =>
          other.item === one.item && other.by !== one.by && other.from < one.until && one.from < other.until,
      ),
    )
    return both === undefined ? undefined : `${both.item} was at two relays`
  },
  identity: ({ samples }) => {
    const wrong = samples.find(
      ({ accepted, delivered, rejected, expired, dropped, abandoned, waiting }) =>
        accepted !== delivered + rejected + expired + dropped + abandoned + waiting ||
        waiting < 0 ||
        accepted < 0,
    )
    return wrong === undefined ? undefined : JSON.stringify(wrong)
  },
  agree: ({ atRest, kept }, each, exact) => {
    const waiting = atRest.reduce((sum, totals) => sum + totals.waiting, 0)
    // A broker cannot say afterwards what was said while a connection was down: then a count may stay too high.
    if (waiting > 0 && (exact || isCalm(each))) return `${waiting} wait`
    const accepted = atRest.reduce((sum, totals) => sum + totals.accepted, 0)
    if (isCalm(each) && accepted !== kept.length) return `${accepted} accepted of ${kept.length}`
    return undefined
  },
  still: ({ left }) => (left.timersAtRest === 0 ? undefined : `${left.timersAtRest} timers`),
  leaves: ({ left: { timers, listeners } }) =>
    timers + listeners === 0 ? undefined : `${timers} timers, ${listeners} listeners`,
}

/** Situations that the worlds must reach, or the laws test little. */
export interface Reached {
  worlds: number
  calm: number
  shared: number
  handedOver: number
  rolledBack: number
  committed: number
  died: number
  inDoubt: number
}

export const nothingReached = (): Reached => ({
  worlds: 0,
  calm: 0,
  shared: 0,
  handedOver: 0,
  rolledBack: 0,
  committed: 0,
  died: 0,
  inDoubt: 0,
})

const note = (reached: Reached, { asks, ended, doubted }: Trace, { items, troubles }: World): void => {
  const count = (isSo: boolean): number => (isSo ? 1 : 0)
  reached.worlds++
  reached.calm += count(troubles.length === 0)
  reached.shared += count(new Set(ended.map(({ by }) => by)).size === 2)
  reached.handedOver += count(
    asks.some(({ item, by }) => items[item]?.how === 'sent' && items[item].by !== by),
  )
  reached.rolledBack += count(items.some(({ how }) => how === 'rolledBack'))
  reached.committed += count(items.some(({ how }) => how === 'committed'))
  reached.died += count(troubles.some(({ is }) => is === 'death'))
  reached.inDoubt += count(doubted.length > 0)
}

type Law = keyof typeof SHARED_LAWS

// The keys of a record are its keys.
const ALL = Object.keys(SHARED_LAWS) as ReadonlyArray<Law>

/** How these laws are put to a store. */
export interface Asked {
  /** The store can say afterwards what it said while nobody listened. */
  readonly exact: boolean
  /** Only these. */
  readonly of?: ReadonlyArray<Law>
  readonly reached?: Reached
}

/** Plays one world; throws what names the law that was broken. */
export const keepShared = async (
  makes: Makes,
  each: World,
  { exact, of = ALL, reached = nothingReached() }: Asked,
): Promise<void> => {
  const trace = await play(each, makes)
  note(reached, trace, each)
  for (const law of of) {
    const what = laws[law](trace, each, exact)
    if (what !== undefined) throw new Error(`${SHARED_LAWS[law]}: ${what}`)
  }
}

export const sharedLaws = (makes: Makes, asked: Asked): fc.IAsyncProperty<[World]> =>
  fc.asyncProperty(world, (each) => keepShared(makes, each, asked))
