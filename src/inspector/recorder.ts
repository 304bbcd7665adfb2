/**
 * A bounded memory of what one part told: histories of events, counts for each second, its receivers. The
 * oldest goes first. @module
 */
import { isLeft } from '../core/either.ts'
import { systemClock } from '../core/clock.ts'
import { show as showFailure, type Failure } from '../core/failure.ts'
import { flat, isRecord } from '../core/json.ts'
import { linkedList } from '../core/linkedList.ts'
import type { Totals } from '../core/outcome.ts'
import { logLine, oneLine } from '../log/debug.ts'
import type { Attempted, LogEvent } from '../log/logEvent.ts'
import { addStep, showEvent, History, type StoryStep } from './story.ts'

/** Seconds of the chart, and of the counts from which the state is told. */
const SECONDS = 120
const RECENT = 60
const MAX_SINKS = 64
/** Milliseconds over which the rate of a sink is taken. */
const RATE_PERIOD = 10_000
const MAX_NOTES = 8
const MAX_DURATIONS = 256
/** Characters of a reason. */
const MAX_TEXT = 100
/** Events of each list in a snapshot. */
const SHOWN = 12
/** The share of failed attempts from which a part or a sink is not well. */
const UNWELL = 0.05
/** Ids in a second that are copied. More are held for a short time, and a copy costs as a step does. */
const MAX_COPIES = 100
/** Accepted events in a second that get a story, which costs 2 µs. Of the others only failures are told. */
const MAX_STORIES = 1_000

/** Counts of these for each second: rings, one behind the other. */
const [ACCEPTED, DELIVERED, DIED, ATTEMPTS, FAILED] = [0, SECONDS, 2 * SECONDS, 3 * SECONDS, 4 * SECONDS]

/** Without schemes and this machine: http://127.0.0.1:7412/hook is :7412/hook. */
export const withoutHosts = (text: string): string =>
  text.replace(/https?:\/\/((127\.0\.0\.1|localhost)(?=:))?/g, '').replace(/\/(?=: |$)/g, '')

/** The last attempts at a sink, in rings. `ends`: when each ended; below zero if it failed. */
const newReceiver = (sink: string, others: ReadonlyArray<{ readonly name: string }>) => ({
  sink,
  // The names of two may be one without their schemes or hosts.
  name: flat(others.some(({ name }) => name === withoutHosts(sink)) ? sink : withoutHosts(sink)),
  counts: { taken: 0, failed: 0, skipped: 0, firstWins: 0 },
  durations: new Float64Array(MAX_DURATIONS),
  ends: new Float64Array(MAX_DURATIONS),
  last: '',
})
type SinkCounts = ReturnType<typeof newReceiver>
type PartStats = Totals & { readonly refused: number; readonly oldest?: number }

/** The nearest rank: this share of all values is not above it. Undefined of none. */
export const percentile = (sorted: ArrayLike<number>, share: number): number | undefined =>
  sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]

const TYPES = ['track', 'identify', 'page', 'screen', 'group', 'alias', 'delete']
/** The kind is in the first bytes of the text of an item: to read `items` would parse it. */
const kindIn = (text: unknown): string => {
  if (typeof text !== 'string') return ''
  const from = text.startsWith('{"type":"') ? 9 : text.startsWith('{"version":1,"type":"') ? 21 : text.length
  for (const kind of TYPES) if (text.startsWith(kind, from) && text[from + kind.length] === '"') return kind
  return ''
}
const idOf = (item: unknown): string | undefined => {
  const id = isRecord(item) ? item['id'] : undefined
  return typeof id === 'string' ? id : undefined
}
/** What is kept of an item. */
export const outlineOf = (item: unknown) => {
  const { text, byteLength } = isRecord(item) ? item : {}
  return { id: idOf(item), type: kindIn(text), bytes: typeof byteLength === 'number' ? byteLength : 0 }
}

const short = (text: string): string =>
  flat(oneLine(text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}...`))

const reasonOf = (failure: Failure): string => short(showFailure(failure))

/** @param maxHistories ended ones go before waiting ones */
export const recorder = (maxHistories: number, firstName: string, now: () => number = systemClock.now) => {
  // Not by the order of a Map: its first entry is found by a walk over all that were deleted.
  const byId = new Map<string, History>()
  const waiting = linkedList<History>()
  const ended = linkedList<History>()
  const receivers = new Map<string, SinkCounts>()
  const notes: Array<{ readonly at: number; readonly text: string }> = []
  const counts = new Uint32Array(5 * SECONDS)
  let [second, place, told, deadChanges, lastAt, name] = [0, 0, 0, 0, 0, firstName]
  let lastReceiver: SinkCounts | undefined

  const advance = (at: number): void => {
    const to = Math.floor(at / 1_000)
    for (let s = Math.max(second, to - SECONDS) + 1; s <= to; s++)
      for (let row = 0; row < counts.length; row += SECONDS) counts[row + (s % SECONDS)] = 0
    second = Math.max(second, to)
    place = second % SECONDS
  }
  const count = (row: number): void => {
    counts[row + place] = (counts[row + place] ?? 0) + 1
  }
  /** The last `size` seconds before the one that runs, oldest first; with it if `more` is 1. */
  const series = (row: number, size = SECONDS - 1, more = 0): ReadonlyArray<number> => {
    const from = second + SECONDS - size + more
    return Array.from({ length: size }, (_, n) => counts[row + ((from + n) % SECONDS)] ?? 0)
  }

  const listOf = ({ state }: History) => (state === 'Waiting' ? waiting : ended)
  /** A history for an event: a new one while there is room, then that which goes. */
  const taken = (): History => {
    const oldest = byId.size < maxHistories ? undefined : (ended.oldest() ?? waiting.oldest())
    if (oldest === undefined) return new History()
    listOf(oldest).remove(oldest)
    byId.delete(oldest.id)
    return oldest
  }
  const begin = (item: unknown, id: string, at: number): History => {
    const known = byId.get(id)
    if (known !== undefined) listOf(known).remove(known)
    const history = known ?? taken()
    const { type, bytes } = outlineOf(item)
    history.id = (counts[ACCEPTED + place] ?? 0) > MAX_COPIES ? id : flat(id)
    history.type = type
    history.bytes = bytes
    history.at = at
    history.count = history.omitted = history.requests = 0
    history.state = 'Waiting'
    history.due = undefined
    if (known === undefined) byId.set(history.id, history)
    waiting.push(history)
    return history
  }
  const isBusy = (): boolean => (counts[ACCEPTED + place] ?? 0) > MAX_STORIES
  /** Whether successes are only counted: they belong to no event with a story. */
  const isCounting = (): boolean => isBusy() && waiting.size() === 0
  /** Undefined without an id, and for a new one while others wait: its story would have no beginning. */
  const historyOf = (item: unknown, at: number, isSuccess: boolean): History | undefined => {
    const id = idOf(item)
    const known = id === undefined ? undefined : byId.get(id)
    if (id === undefined || known !== undefined || (isSuccess && isBusy())) return known
    return byId.size < maxHistories || ended.oldest() !== undefined ? begin(item, id, at) : undefined
  }
  const tellOne = (item: unknown, step: StoryStep, due: number | undefined): void => {
    // The answer of a slower receiver may come after the story has ended and gone: it begins none.
    const history = step.kind === 'waits' ? historyOf(item, step.at, false) : byId.get(idOf(item) ?? '')
    if (history === undefined) return
    // Nothing else of a dead letter goes on.
    if (history.state === 'Rejected' || history.state === 'Expired') {
      ended.remove(history)
      history.state = 'Waiting'
      waiting.push(history)
      addStep(history, { at: step.at, kind: 'accepted', amount: 0, about: '', why: 'redriven' })
    }
    addStep(history, step)
    history.due = due
    if (step.kind === 'taken' || step.kind === 'failed') history.requests++
  }
  const tell = (item: unknown, step: StoryStep, due?: number): void => {
    if (step.kind === 'taken' && isCounting()) return
    const members = isRecord(item) ? item['members'] : undefined
    if (Array.isArray(members)) for (const member of members) tellOne(member, step, due)
    else tellOne(item, step, due)
  }
  const receiverOf = (sink: string): SinkCounts => {
    if (lastReceiver?.sink === sink) return lastReceiver
    const receiver = receivers.get(sink) ?? newReceiver(sink, [...receivers.values()])
    receivers.set(sink, receiver)
    for (const [oldest] of receivers) if (receivers.size > MAX_SINKS) receivers.delete(oldest)
    return (lastReceiver = receiver)
  }
  const attempted = ({ at, startedAt, item, sink, duration, result }: Attempted): void => {
    const receiver = receiverOf(sink)
    const { counts, durations, ends } = receiver
    const kind = isLeft(result) ? 'failed' : 'taken'
    const place = (counts.taken + counts.failed) % MAX_DURATIONS
    durations[place] = duration
    ends[place] = isLeft(result) ? -at : at
    counts[kind]++
    count(ATTEMPTS)
    if (isLeft(result)) {
      count(FAILED)
      receiver.last = reasonOf(result.left)
    }
    const why = isLeft(result) ? receiver.last : (result.right.status ?? 'taken')
    tell(item, { at: startedAt, kind, amount: duration, about: receiver.name, why })
  }
  const hasEnded = ({ at, outcome }: LogEvent & { readonly _tag: 'Ended' }): void => {
    const { _tag, item, attempts } = outcome
    const isDead = _tag === 'Rejected' || _tag === 'Expired'
    if (isDead) deadChanges++
    if (isDead || _tag === 'Delivered') count(isDead ? DIED : DELIVERED)
    if (_tag === 'Delivered') {
      receiverOf(outcome.receipt.sink).counts.firstWins++
      if (isCounting()) return
    }
    const history = historyOf(item, at, _tag === 'Delivered')
    if (history === undefined) return
    const why = isDead ? reasonOf(outcome.failure) : ''
    addStep(history, { at, kind: 'ended', amount: attempts, about: _tag, why })
    history.due = undefined
    listOf(history).remove(history)
    history.state = _tag
    ended.push(history)
  }
  const wordOf = (waits: number): string => {
    const recent = (row: number): number => series(row, RECENT, 1).reduce((sum, each) => sum + each, 0)
    const [delivered, bad] = [recent(DELIVERED), recent(DIED)]
    if (delivered === 0 && recent(FAILED) + bad > 0) return 'Failing'
    if (bad > 0 || recent(FAILED) > UNWELL * recent(ATTEMPTS)) return 'Degraded'
    return delivered > 0 ? 'Delivering' : waits > 0 ? 'Waiting' : 'Idle'
  }
  const showReceiver = ({ name, counts, durations, ends, last }: SinkCounts) => {
    const size = Math.min(MAX_DURATIONS, counts.taken + counts.failed)
    const sorted = durations.slice(0, size).sort()
    const recent = ends.slice(0, size).filter((end) => Math.abs(end) > now() - RECENT * 1_000)
    const share = recent.filter((end) => end < 0).length / recent.length
    const state = recent.length === 0 ? 'idle' : share > 0.9 ? 'failing' : share > UNWELL ? 'flaky' : 'ok'
    const ages = recent.map((end) => now() - Math.abs(end)).filter((age) => age < RATE_PERIOD)
    // At most the last 256 are known, which may span less than the period.
    const rate = (1_000 * ages.length) / Math.max(1_000, ...ages)
    return { name, state, rate, ...counts, p50: percentile(sorted, 0.5), p95: percentile(sorted, 0.95), last }
  }

  return {
    onEvent: (event: LogEvent): void => {
      const { at } = event
      if (at !== lastAt) advance(at)
      lastAt = at
      name = event.from
      told++
      switch (event._tag) {
        case 'Accepted': {
          const id = idOf(event.item)
          count(ACCEPTED)
          if (id === undefined || isBusy()) return
          // An id that comes again begins again.
          return addStep(begin(event.item, id, at), { at, kind: 'accepted', amount: 0, about: '', why: '' })
        }
        case 'Attempted':
          return attempted(event)
        case 'Ended':
          return hasEnded(event)
        case 'Waiting': {
          const { item, delay, because } = event
          return tell(item, { at, kind: 'waits', amount: delay, about: '', why: short(because) }, at + delay)
        }
        case 'UrlSkipped':
        case 'Held': {
          const { counts, name: about } = receiverOf(event.sink)
          if (event._tag === 'UrlSkipped') counts.skipped++
          const why = event._tag === 'Held' ? event.because : 'its queue is full'
          return tell(event.item, { at, kind: 'held', amount: 0, about, why })
        }
        default:
          if (event._tag === 'Redriven' || event._tag === 'Corrupt') deadChanges++
          if (notes.unshift({ at, text: short(logLine(event)) }) > MAX_NOTES) notes.pop()
      }
    },
    name: (): string => name,
    history: (id: string): History | undefined => byId.get(id),
    histories: (): number => byId.size,
    /** Changes when a snapshot would: by an event, and each second. */
    version: (): string => `${String(told)} ${String(Math.floor(now() / 1_000))}`,
    /** What a page shows. */
    snapshot: ({ waiting: waits, ...stats }: PartStats, key = 0) => {
      advance(now())
      const { accepted, delivered, rejected, expired, dropped, abandoned, refused, oldest } = stats
      const sinks = [...receivers.values()].map(showReceiver)
      const bad = sinks.filter(({ state }) => state === 'failing' || state === 'flaky')
      const [first, last]: [History[], History[]] = [[], []]
      for (let each = waiting.oldest(); each && first.length < SHOWN; each = each.newer) first.push(each)
      for (let each = ended.oldest(); each; each = each.newer) last.push(each)
      let next: number | undefined
      for (let each = waiting.oldest(); each; each = each.newer)
        if (each.due !== undefined && each.due < (next ?? Infinity)) next = each.due
      return {
        ...{ key, name, at: now(), word: wordOf(waits), oldest, next, sinks, notes, deadChanges },
        why: bad.map(({ name, state, last }) => `${name} is ${state}, last failure: ${last}`),
        totals: { accepted, delivered, waiting: waits, rejected, expired, dropped, abandoned, refused },
        series: [series(ACCEPTED), series(DELIVERED), series(FAILED)],
        waiting: first.map(showEvent),
        ended: last.slice(-SHOWN).reverse().map(showEvent),
      }
    },
  }
}
