import * as fc from 'fast-check'
import { model } from '../collector/model.ts'
import type { Expected } from '../collector/model.ts'
import { play, world } from '../collector/world.ts'
import type { CreateCollector, Told, Trace, World } from '../collector/world.ts'

interface CollectorLaw {
  readonly id: string
  /** What is wrong with a trace, or nothing. */
  readonly broken: (trace: Trace, expected: ReadonlyArray<Expected>, world: World) => string | undefined
}

const sum = (all: ReadonlyArray<number>): number => all.reduce((total, each) => total + each, 0)

const tagOf = ({ outcome }: Told): string => {
  if (outcome._tag !== 'Rejected') return outcome._tag
  const { attempts, failure } = outcome
  return failure._tag === 'Refused' && failure.reason === 'full' && attempts === 0 ? 'buried' : 'Rejected'
}

const laws: ReadonlyArray<CollectorLaw> = [
  {
    id: 'received = accepted + refused after every act, and as many as there were',
    broken: ({ results }, expected) => {
      for (const [at, { stats }] of results.entries()) {
        const { received, accepted, refused, reasons, unrouted, sources } = stats
        const sofar = expected.slice(0, at + 1)
        if (received !== sum(sofar.map((each) => each.received))) return `${String(received)} received`
        if (accepted !== sum(sofar.map((each) => each.accepted.size))) return `${String(accepted)} accepted`
        if (unrouted !== sum(sofar.map((each) => each.unrouted))) return `${String(unrouted)} unrouted`
        if (received !== accepted + refused) return 'what was refused does not add up'
        if (refused < sum(Object.values(reasons).filter((count) => count < refused)))
          return 'more reasons than refusals'
        if (received !== sum(Object.values(sources).map((each) => each.received)))
          return 'sources that do not add up'
      }
      return undefined
    },
  },
  {
    id: 'the answer says how many were accepted, and names the others',
    broken: ({ results }, expected) => {
      for (const [at, { status, body, ids }] of results.entries()) {
        const wanted = expected[at]
        if (status === undefined || wanted === undefined) continue
        if (status !== wanted.status) return `${String(status)} and not ${String(wanted.status)}`
        if (status !== 200 && status !== 400) continue
        if (body.receivedEvents !== ids.length || body.okEvents !== wanted.accepted.size)
          return 'wrong counts'
        const bad = ids.flatMap((_, index) => (wanted.accepted.has(index) ? [] : [index]))
        if ((body.errors ?? []).map(({ index }) => index).join() !== bad.join()) return 'wrong indexes'
      }
      return undefined
    },
  },
  {
    id: 'accept answers what a post would',
    broken: ({ results }, expected) =>
      results.some(({ accepted }, at) =>
        accepted.some((is, index) => is !== (expected[at]?.accepted.has(index) ?? false)),
      )
        ? 'another answer'
        : undefined,
  },
  {
    id: 'each accepted message has exactly one outcome at each destination that wants it, and none elsewhere',
    broken: ({ results, told }, expected) => {
      const wanted = expected.flatMap(({ shares, notifications }, at) =>
        notifications === undefined
          ? shares.map(({ index, name }) => `${results[at]?.ids[index] ?? ''} at ${name}`)
          : [],
      )
      const heard = told
        .filter(({ outcome }) => outcome.item.items[0].type !== 'delete')
        .map(({ destination, outcome }) => `${outcome.item.id} at ${destination}`)
      return wanted.toSorted().join() === heard.toSorted().join()
        ? undefined
        : `${heard.join()} for ${wanted.join()}`
    },
  },
  {
    id: 'a destination that takes has all of its share, one that does not has what it had room for, and buries the rest',
    broken: ({ told }, expected, { places }) => {
      for (const { name, takes } of places) {
        const mine = expected.flatMap(({ shares }) => shares.filter((share) => share.name === name))
        const tags = told.filter(({ destination }) => destination === name).map(tagOf)
        const count = (tag: string): number => tags.filter((each) => each === tag).length
        const buried = mine.filter((share) => share.buried).length
        if (count('buried') !== buried) return `${String(count('buried'))} buried at ${name}`
        if (count(takes ? 'Delivered' : 'Abandoned') !== mine.length - buried) return `others at ${name}`
      }
      return undefined
    },
  },
  {
    id: 'a deletion is told to each enabled destination of each affected source, whatever else',
    broken: ({ results, told, after }, expected) => {
      const wrong = results.findIndex(
        ({ notifications }, at) => notifications !== expected[at]?.notifications,
      )
      if (wrong >= 0) return `${String(results[wrong]?.notifications)} notifications`
      const wanted = expected.flatMap(({ shares, notifications }) =>
        notifications === undefined ? [] : shares.map(({ name }) => name),
      )
      const heard = told.filter(({ outcome }) => outcome.item.items[0].type === 'delete')
      if (heard.length !== wanted.length || after.deletions !== wanted.length) return 'other notifications'
      return heard
        .map(({ destination }) => destination)
        .toSorted()
        .join() === wanted.toSorted().join()
        ? undefined
        : 'notifications elsewhere'
    },
  },
  {
    id: 'an event is the same text at every destination',
    broken: ({ told }) => {
      const texts = new Map<string, string | undefined>()
      for (const { outcome } of told) {
        const { id, text } = outcome.item
        if (texts.has(id) && texts.get(id) !== text) return `${id} differs`
        texts.set(id, text)
      }
      return undefined
    },
  },
  {
    id: 'the accounts of the destinations add up, and what is handed back is what was abandoned',
    broken: ({ after, told, abandoned, timersLeft }) => {
      for (const [name, stats] of Object.entries(after.destinations)) {
        const count = (tag: string): number =>
          told.filter(({ destination, outcome }) => destination === name && outcome._tag === tag).length
        if (stats.accepted !== stats.delivered + stats.rejected + stats.abandoned + stats.waiting)
          return 'a wrong sum'
        if (stats.delivered !== count('Delivered') || stats.rejected !== count('Rejected'))
          return 'other counts'
        if (stats.waiting !== 0 || abandoned[name]?.length !== count('Abandoned'))
          return `something is left at ${name}`
      }
      return timersLeft === 0 ? undefined : 'a timer is left'
    },
  },
]

/** Situations that the worlds must reach, or the laws test little. */
export interface Reached {
  worlds: number
  partial: number
  buried: number
  refusedWhole: number
  unrouted: number
  notRouted: number
  deletions: number
  off: number
}

export const nothingReached = (): Reached => ({
  worlds: 0,
  partial: 0,
  buried: 0,
  refusedWhole: 0,
  unrouted: 0,
  notRouted: 0,
  deletions: 0,
  off: 0,
})

const note = (
  reached: Reached,
  { results, told }: Trace,
  expected: ReadonlyArray<Expected>,
  { places }: World,
): void => {
  const has = (is: boolean): number => (is ? 1 : 0)
  reached.worlds++
  reached.partial += has(results.some(({ status, body }) => status === 200 && body.errors !== undefined))
  reached.buried += has(told.some((each) => tagOf(each) === 'buried'))
  reached.refusedWhole += has(results.some(({ status }) => status === 503))
  reached.unrouted += has(expected.some(({ unrouted }) => unrouted > 0))
  reached.notRouted += has(
    expected.some(
      ({ shares, accepted }) => accepted.size > 0 && shares.length < accepted.size * places.length,
    ),
  )
  reached.deletions += has(expected.some(({ notifications = 0 }) => notifications > 1))
  reached.off += has(results.some(({ status }) => status === 404))
}

/** One property that holds all laws, so that a world is played once. */
export const collectorLaws = (
  create: CreateCollector,
  reached: Reached = nothingReached(),
): fc.IAsyncProperty<[World]> =>
  fc.asyncProperty(world, async (given) => {
    const trace = await play(given, create)
    const expected = model(given)
    note(reached, trace, expected, given)
    for (const { id, broken } of laws) {
      const wrong = broken(trace, expected, given)
      if (wrong !== undefined) throw new Error(`${id}: ${wrong}`)
    }
  })
