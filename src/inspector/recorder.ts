/**
 * A bounded memory of what one part told: histories of events, counts for each second, its receivers. The
 * oldest goes first.
 *
 * @module
 */
import { isLeft } from 'fp-ts/lib/Either.js'
import { systemClock } from '../core/clock.ts'
import { show as showFailure } from '../core/failure.ts'
import { isRecord } from '../core/json.ts'
import { linkedList } from '../core/linkedList.ts'
import type { Totals } from '../core/outcome.ts'
import { counted, logLine, oneLine } from '../log/debug.ts'
import type { Attempted, LogEvent } from '../log/logEvent.ts'
import { addStep, factsOf, type History, type StoryStep } from './story.ts'

/** Seconds of the chart, and of the counts from which the state is told. */
const SECONDS = 120
const RECENT = 60
const MAX_SINKS = 64
/** New histories in a second: more would be gone before they are read, and cost several times an event. */
const MAX_NEW = 100
const MAX_NOTES = 8
const MAX_DURATIONS = 256
/** Characters of a reason. */
const MAX_TEXT = 100
/** Events of each list in a snapshot. */
const SHOWN = 12
/** The share of failed attempts from which a part or a sink is not well. */
const UNWELL = 0.05

/** Counts of these for each second, in rings. */
const ROWS = ['accepted', 'delivered', 'dead', 'attempts', 'failed'] as const
type CountName = (typeof ROWS)[number]

/** The last attempts at a sink, in rings. `ends`: when each ended; below zero if it failed. */
const newSinkCounts = (sink: string) => ({
  // http://127.0.0.1:7412/hook is :7412/hook.
  name: sink.replace(/^https?:\/\/((127\.0\.0\.1|localhost)(?=:))?/, '').replace(/\/$/, ''),
  counts: { taken: 0, failed: 0, skipped: 0 },
  durations: new Float64Array(MAX_DURATIONS),
  ends: new Float64Array(MAX_DURATIONS),
  last: '',
})
type SinkCounts = ReturnType<typeof newSinkCounts>

/** The nearest rank: this share of all values is not above it. Undefined of none. */
export const percentile = (sorted: ArrayLike<number>, share: number): number | undefined =>
  sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]

/** What is kept of an item. The kind is in the first bytes of its text: to read `items` would parse it. */
export const outlineOf = (item: unknown) => {
  const { id, text, byteLength } = isRecord(item) ? item : {}
  const [, type = ''] =
    /^\{(?:"version":1,)?"type":"(\w{1,12})"/.exec(typeof text === 'string' ? text : '') ?? []
  return { id: String(id), type, bytes: typeof byteLength === 'number' ? byteLength : 0 }
}
const idOf = (item: unknown): string => String(isRecord(item) ? item['id'] : undefined)
const eachOf = (item: unknown): ReadonlyArray<unknown> =>
  isRecord(item) && Array.isArray(item['members']) ? item['members'] : [item]

/** Slices and sums hold all the texts that they were made of. */
const flat = (text: string): string => Buffer.from(text).toString()
const short = (text: string): string =>
  flat(oneLine(text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}...`))

/** @param maxHistories ended ones go before waiting ones */
export const recorder = (maxHistories: number, firstName: string, now: () => number = systemClock.now) => {
  // Not by the order of a Map: its first entry is found by a walk over all that were deleted.
  const byId = new Map<string, History>()
  const waiting = linkedList<History>()
  const ended = linkedList<History>()
  const sinks = new Map<string, SinkCounts>()
  const notes: Array<{ readonly at: number; readonly text: string }> = []
  const rings: ReadonlyMap<CountName, Uint32Array> = new Map(
    ROWS.map((row) => [row, new Uint32Array(SECONDS)]),
  )
  let [second, told, deadChanges, lastAt, name] = [0, 0, 0, 0, firstName]

  const advance = (at: number): void => {
    const to = Math.floor(at / 1_000)
    for (let s = Math.max(second, to - SECONDS) + 1; s <= to; s++)
      for (const ring of rings.values()) ring[s % SECONDS] = 0
    second = Math.max(second, to)
  }
  const count = (row: CountName): void => {
    const ring = rings.get(row)
    if (ring !== undefined) ring[second % SECONDS] = (ring[second % SECONDS] ?? 0) + 1
  }
  /** The last `size` seconds before the one that runs, oldest first; with it if `more` is 1. */
  const series = (row: CountName, size = SECONDS - 1, more = 0): ReadonlyArray<number> =>
    Array.from(
      { length: size },
      (_, n) => rings.get(row)?.[(second + SECONDS - size + n + more) % SECONDS] ?? 0,
    )

  const listOf = ({ state }: History) => (state === 'Waiting' ? waiting : ended)
  const forget = (history: History | undefined): void => {
    if (history === undefined) return
    listOf(history).remove(history)
    byId.delete(history.id)
  }
  let [newSecond, newCount] = [0, 0]
  const historyOf = (item: unknown, at: number): History | undefined => {
    const id = idOf(item)
    const known = byId.get(id)
    if (known !== undefined) return known
    newCount = newSecond === second ? newCount + 1 : 1
    newSecond = second
    if (newCount > MAX_NEW) return undefined
    if (byId.size >= maxHistories) forget(ended.oldest() ?? waiting.oldest())
    const more = { at, steps: [], omitted: 0, attempts: 0, state: 'Waiting', due: undefined }
    const links = { older: undefined, newer: undefined }
    const history: History = { ...outlineOf(item), ...more, ...links }
    byId.set(id, history)
    waiting.push(history)
    return history
  }
  const tell = (item: unknown, kind: StoryStep['kind'], at: number, text: string, due?: number): void => {
    const step: StoryStep = { at, kind, text }
    for (const member of eachOf(item)) {
      const history = historyOf(member, at)
      if (history === undefined) continue
      addStep(history, step)
      history.due = due
      if (kind === 'taken' || kind === 'failed') history.attempts++
    }
  }
  const sinkOf = (sink: string): SinkCounts => {
    const known = sinks.get(sink)
    if (known !== undefined) return known
    const receiver = newSinkCounts(sink)
    sinks.set(sink, receiver)
    for (const [oldest] of sinks) if (sinks.size > MAX_SINKS) sinks.delete(oldest)
    return receiver
  }
  const attempted = ({ at, startedAt, item, sink, duration, result }: Attempted): void => {
    const receiver = sinkOf(sink)
    const { counts, durations, ends } = receiver
    const kind = isLeft(result) ? 'failed' : 'taken'
    const place = (counts.taken + counts.failed) % MAX_DURATIONS
    durations[place] = duration
    ends[place] = isLeft(result) ? -at : at
    counts[kind]++
    count('attempts')
    if (isLeft(result)) count('failed')
    const verdict = isLeft(result) ? short(showFailure(result.left)) : String(result.right.status ?? 'taken')
    if (isLeft(result)) receiver.last = verdict
    const text = `${verdict} after ${String(Math.round(duration))} ms from ${receiver.name}`
    tell(item, kind, startedAt, flat(text))
  }
  const hasEnded = ({ at, outcome }: LogEvent & { readonly _tag: 'Ended' }): void => {
    const { _tag, item, attempts } = outcome
    const isDead = _tag === 'Rejected' || _tag === 'Expired'
    if (isDead) deadChanges++
    if (isDead || _tag === 'Delivered') count(isDead ? 'dead' : 'delivered')
    const why = isDead ? `: ${short(showFailure(outcome.failure))}` : ''
    tell(item, 'ended', at, `${_tag.toLowerCase()} after ${counted(attempts, 'attempt')}${why}`)
    const history = historyOf(item, at)
    if (history === undefined) return
    listOf(history).remove(history)
    history.state = _tag
    ended.push(history)
  }
  const wordOf = (waits: number): string => {
    const recent = (row: CountName): number => series(row, RECENT, 1).reduce((sum, each) => sum + each, 0)
    const [delivered, bad] = [recent('delivered'), recent('dead')]
    if (delivered === 0 && recent('failed') + bad > 0) return 'Failing'
    if (bad > 0 || recent('failed') > UNWELL * recent('attempts')) return 'Degraded'
    return delivered > 0 ? 'Delivering' : waits > 0 ? 'Waiting' : 'Idle'
  }
  const showSink = ({ name, counts, durations, ends, last }: SinkCounts) => {
    const size = Math.min(MAX_DURATIONS, counts.taken + counts.failed)
    const sorted = durations.slice(0, size).sort()
    const recent = ends.slice(0, size).filter((end) => Math.abs(end) > now() - RECENT * 1_000)
    const share = recent.filter((end) => end < 0).length / recent.length
    const word = share > 0.9 ? 'failing' : share > UNWELL ? 'flaky' : 'ok'
    const state = recent.length === 0 ? 'idle' : word
    return { name, state, ...counts, p50: percentile(sorted, 0.5), p95: percentile(sorted, 0.95), last }
  }
  const showEvent = (history: History) => ({ ...factsOf(history), last: history.steps.at(-1)?.text })

  return {
    onEvent: (event: LogEvent): void => {
      const { at } = event
      if (at !== lastAt) advance(at)
      lastAt = at
      name = event.from
      told++
      switch (event._tag) {
        case 'Accepted': {
          count('accepted')
          // An id that comes again begins again.
          forget(byId.get(idOf(event.item)))
          return tell(event.item, 'accepted', at, 'accepted')
        }
        case 'Attempted':
          return attempted(event)
        case 'Ended':
          return hasEnded(event)
        case 'Waiting': {
          const { item, delay, because } = event
          return tell(item, 'waits', at, `waits ${String(delay)} ms: ${short(because)}`, at + delay)
        }
        case 'UrlSkipped':
        case 'Held': {
          const { counts, name } = sinkOf(event.sink)
          if (event._tag === 'UrlSkipped') counts.skipped++
          const why = event._tag === 'Held' ? event.because : 'its queue is full'
          return tell(event.item, 'waits', at, `held back from ${name}: ${why}`)
        }
        default:
          if (event._tag === 'Redriven' || event._tag === 'Corrupt') deadChanges++
          if (notes.unshift({ at, text: short(logLine(event)) }) > MAX_NOTES) notes.pop()
      }
    },
    name: (): string => name,
    history: (id: string): History | undefined => byId.get(id),
    histories: (): number => byId.size,
    /** Changes when a snapshot would: by an event, and each second while a ring holds a count. */
    version: (): string =>
      `${String(told)} ${String(Math.min(Math.floor(now() / 1_000), Math.floor(lastAt / 1_000) + SECONDS))}`,
    /** What a page shows. */
    snapshot: ({
      waiting: waits,
      ...stats
    }: Totals & { readonly refused: number; readonly oldest?: number }) => {
      advance(now())
      const { accepted, delivered, rejected, expired, dropped, abandoned, refused, oldest } = stats
      const receivers = [...sinks.values()].map(showSink)
      const [first, last]: [History[], History[]] = [[], []]
      for (let each = waiting.oldest(); each && first.length < SHOWN; each = each.newer) first.push(each)
      for (let each = ended.oldest(); each; each = each.newer) last.push(each)
      return {
        ...{ name, at: now(), word: wordOf(waits), oldest, sinks: receivers, notes, deadChanges },
        why: receivers.flatMap(({ name, state, last }) =>
          /fa|fl/.test(state) ? `${name} is ${state}: ${last}` : [],
        ),
        totals: { accepted, delivered, waiting: waits, rejected, expired, dropped, abandoned, refused },
        series: [series('accepted'), series('delivered'), series('failed')],
        waiting: first.map(showEvent),
        ended: last.slice(-SHOWN).reverse().map(showEvent),
      }
    },
  }
}
