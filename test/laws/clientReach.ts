import type { Trace, World } from '../client/world.ts'

/** Situations that the worlds must reach, or the laws test little. */
export interface Reached {
  worlds: number
  delivered: number
  rejected: number
  expired: number
  dropped: number
  abandoned: number
  full: number
  bisected: number
  retried: number
  timedOut: number
  byBytes: number
  byDelay: number
  keyed: number
  partly: number
  flushed: number
}

export const nothingReached = (): Reached => ({
  worlds: 0,
  delivered: 0,
  rejected: 0,
  expired: 0,
  dropped: 0,
  abandoned: 0,
  full: 0,
  bisected: 0,
  retried: 0,
  timedOut: 0,
  byBytes: 0,
  byDelay: 0,
  keyed: 0,
  partly: 0,
  flushed: 0,
})

/** Notes what a world has reached. */
export const note = (reached: Reached, { told, calls, sent, flushed }: Trace, given: World): void => {
  const count = (is: boolean): number => (is ? 1 : 0)
  const has = (tag: string): number => count(told.some(({ outcome }) => outcome._tag === tag))
  reached.worlds++
  reached.delivered += has('Delivered')
  reached.rejected += has('Rejected')
  reached.expired += has('Expired')
  reached.dropped += has('Dropped')
  reached.abandoned += has('Abandoned')
  reached.full += count(sent.some(({ answer }) => answer === 'Full'))
  reached.bisected += count(
    calls.some(({ item, attempt }, at) =>
      calls.slice(0, at).some((each) => each.item.id === item.id && each.attempt.number === attempt.number),
    ),
  )
  reached.retried += count(calls.some(({ attempt }) => attempt.number > 1))
  reached.timedOut += count(calls.some(({ startedAt, endedAt }) => endedAt === startedAt + given.timeout))
  reached.byBytes += count(calls.some(({ item }) => item.closedBy === 'bytes'))
  reached.byDelay += count(calls.some(({ item }) => item.closedBy === 'delay'))
  reached.keyed += count(given.keyed && given.concurrency > 1 && calls.length > 3)
  reached.partly += count(
    calls.some(
      ({ item, attempt }) =>
        attempt.number > 1 &&
        calls.some((each) => each.item.id === item.id && each.item.members.length > item.members.length),
    ),
  )
  reached.flushed += count(flushed.some(({ asked, at }) => at > asked))
}
