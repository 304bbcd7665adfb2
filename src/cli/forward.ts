/** Forwards lines to a destination or a client as fast as events end, until every event has ended. */
import { statSync } from 'node:fs'
import { Subject as Changes, firstValueFrom } from 'rxjs'
import type { Either } from '../core/either.ts'
import type { Awaitable } from '../core/awaitable.ts'
import { show, type Refusal } from '../core/refusal.ts'
import { urlCounters } from '../destination/createDestination.ts'
import { storedEvents } from '../destination/record.ts'
import { callOf } from '../event/model.ts'
import type { Event } from '../event/event.ts'
import type { EventPayload, Payload } from '../event/payload.ts'
import { counted } from '../log/debug.ts'
import type { Inspectable } from '../inspector/inspector.ts'
import type { Listener } from '../log/logEvent.ts'
import { LAST_ATTEMPT } from '../outbox/close.ts'
import { lmdbOutbox } from '../outbox/lmdb/lmdbOutbox.ts'
import type { BookmarkedOutbox, Outbox } from '../outbox/outbox.ts'
import { lineFile } from '../sink/ndjson.ts'
import type { BadLine } from '../sources/ndjson.ts'
import type { Place } from './flags.ts'
import { assertWritable, markFromText, markToText, type Input, type Cursor } from './input.ts'
import { UsageError, type OutputForm } from './options.ts'
import { drawLive, drawProgress, drawStopping, outputOf } from './live.ts'
import { endingOf, exitCodeOf, madeRoom, refusalReport, newsOf, showCauses } from './report.ts'
import { showSummary, summaryOf, toJson, whyNot, writeReport } from './report.ts'
import type { Report, Subject, Summary } from './report.ts'
import { openPostgres } from './server.ts'
import { FAULT, aborted, quit, stopSignals, type Stops, type Terminal } from './terminal.ts'

/** A destination or a client, as a run uses it. */
export interface LineTarget extends Inspectable {
  /** Resolves when there is room for one more, or it is closed. */
  readonly ready: () => Promise<void>
  readonly offer: (value: unknown) => Awaitable<Either<Refusal, unknown>>
  /** Resolves when everything has ended. */
  readonly idle: () => Promise<unknown>
  readonly close: (options: { readonly timeout: number }) => Promise<unknown>
}

export interface Job {
  readonly input: Input
  /** Events wait in the outbox, if there is one. */
  readonly open: (onEvent: Listener, outbox: Outbox<Payload<Event>> | undefined) => LineTarget
  readonly maxWaiting: number
  /** The file of `--dead`. The demo has no such flag. */
  readonly dead?: string | undefined
  /** Where events wait; default in memory. */
  readonly place?: Place | undefined
  /** Reads a file from its first line, whatever an earlier run has read. */
  readonly fromStart?: boolean
  /** Milliseconds in which retries may still start after a stop. */
  readonly grace: number
  /** Milliseconds after which an event expires. */
  readonly retryFor?: number | undefined
  readonly output: OutputForm
  /** The port of an inspector; 0 is any. */
  readonly inspect?: number | undefined
  /** Default: the signals of the process. */
  readonly stop?: Stops
  /** Runs when every event has ended and the account was told. The target is open until it resolves. */
  readonly epilogue?: (summary: Summary, target: LineTarget, stopped: AbortSignal) => Promise<void>
}

/** Bytes of events that may wait. */
export const MAX_WAITING_BYTES = 268_435_456

/** Offers at a time to a store on a disk. Its bounds are larger by as many, so it is never full. */
const MAX_UNDECIDED = 256
const STORE_SLACK = { count: 1_000, bytes: 67_108_864 }

const MAX_UNKNOWN_KEYS = 100

/** A payload carries an event, or (of a client) only its kind. */
type Carried = Event | Event['type']
export type Stored = EventPayload<Carried>

export const typeOf = ({ items: [carried] }: Stored) => (typeof carried === 'object' ? carried.type : carried)

/** The event of an item as a call that can be sent again. */
export const callIn = ({ items: [carried], text }: Stored): object =>
  // A client's text was written from an object.
  typeof carried === 'string' ? (JSON.parse(text) as object) : callOf(carried)

/** The file of `--dead`: undelivered events, as calls that can be sent again. The first one creates it. */
const openDeadFile = (path: string, { stats: read }: Input) => {
  assertWritable('--dead', path)
  const existing = statSync(path, { bigint: true, throwIfNoEntry: false })
  if (read?.isFile() === true && read.dev === existing?.dev && read.ino === existing.ino)
    throw new UsageError('--dead is the input file: give another, or events would be sent again and again')
  const file = lineFile(path)
  const written = { count: 0, failure: '' }
  return {
    written,
    add: (item: Stored, reason: string): void =>
      file.write(JSON.stringify({ ...callIn(item), reason }), (error) => {
        if (error instanceof Error) written.failure ||= whyNot(error)
        else written.count++
      }),
    close: (): Promise<void> => new Promise((resolve) => file.end(resolve)),
  }
}

const openPanel = async (port: number | undefined, terminal: Terminal) =>
  port === undefined ? undefined : (await import('./inspect.ts')).openInspector(port, [], terminal)

/** Runs a job to its end. @throws UsageError, OutboxError */
export const forward = async (job: Job, terminal: Terminal) => {
  const { input, maxWaiting } = job
  const { out, err } = terminal
  const form = outputOf(job.output, terminal)
  // Keys that are typed would break the view.
  const output = form === 'live' && input.isKeyboard ? 'lines' : form
  const dead = job.dead === undefined ? undefined : openDeadFile(job.dead, input)
  const urls = urlCounters()
  const ends = new Changes<void>()
  const unknownKeys = new Set(['reason'])
  const lines = new WeakMap<object, number>()
  /** Of items that have not ended: one that was read back from a disk is another object with the same id. */
  const linesById = new Map<string, number>()
  /** Accepted and not ended; only in memory, where a stop at once would lose them. */
  const outstanding = new Set<Stored>()
  /** Of the line that is being offered. */
  let line = 0
  let mark: Cursor | undefined
  const reading = { refused: 0, corrupt: 0, isResumed: false, isBroken: false, isAtEnd: false }

  const note = (sentence: string): void => err.line(`headrace: ${sentence}`)
  const report = (each: Report): void => writeReport(terminal, output, each)
  const refuse = (at: number, refusal: BadLine | Refusal, value?: unknown): void => {
    reading.refused++
    report(refusalReport(at, refusal, value))
  }

  const lineOf = (item: Payload<Carried>): number => lines.get(item) ?? linesById.get(item.id) ?? 0
  const setLine = (item: Payload<Carried>): void => {
    lines.set(item, line)
    // Other processes that share a queue have ended theirs.
    if (linesById.size > maxWaiting + STORE_SLACK.count) linesById.clear()
    linesById.set(item.id, line)
  }
  const subjectOf = (item: unknown): Subject => {
    // Destinations and clients send payloads only.
    const sent = item as Payload<Carried>
    const head = { line: lineOf(sent.members?.[0] ?? sent), id: sent.id }
    if (sent.members === undefined) return { ...head, type: typeOf(sent) }
    return { ...head, type: 'batch', count: sent.members.length }
  }

  const onEvent: Listener = (event) => {
    urls.onEvent(event)
    if (event._tag === 'Accepted' && store === undefined) {
      // Only events are accepted and end, never a batch.
      const item = event.item as Stored
      setLine(item)
      outstanding.add(item)
    }
    if (event._tag === 'UnknownKeys' && unknownKeys.size < MAX_UNKNOWN_KEYS) {
      const keys = event.keys.filter((key) => !unknownKeys.has(key))
      for (const key of keys) unknownKeys.add(key)
      if (keys.length > 0) report({ t: 'dropped', line, keys })
    }
    const news = newsOf(event, subjectOf)
    if (news !== undefined) report(news)
    if (event._tag !== 'Ended') return
    const item = event.outcome.item as Stored
    // Late log events still find its line.
    lines.set(item, lineOf(item))
    linesById.delete(item.id)
    outstanding.delete(item)
    const { outcome, causes } = endingOf(event.outcome)
    const why = causes.length === 0 ? 'stopped before it was attempted' : showCauses(causes)
    if (outcome !== 'delivered') dead?.add(item, `${outcome}: ${why}`)
    ends.next()
  }

  const of = { codec: storedEvents, onCorrupt: () => reading.corrupt++ }
  const server = job.place?.server
  const database = server && (await openPostgres(server))
  const bounds = { maxCount: maxWaiting + STORE_SLACK.count, maxBytes: MAX_WAITING_BYTES + STORE_SLACK.bytes }
  const store: BookmarkedOutbox<Payload<Event>> | undefined = server
    ? database?.outboxOf(server.queue)(of)
    : job.place && lmdbOutbox({ path: job.place.name, ...bounds, ...of })
  await database?.opened()
  const evictedBefore = store?.stats().evictedDeadLetters ?? 0
  // Before anything is sent: its port may be in use.
  const panel = await openPanel(job.inspect, terminal).catch(async (error: unknown) => {
    await store?.close()
    throw error
  })
  const target = job.open(
    onEvent,
    store && {
      ...store,
      // An event is stored with the place behind its line: after a kill the next run goes on there.
      enqueue: (items) => {
        items.forEach(setLine)
        if (input.name === undefined || mark === undefined) return store.enqueue(items)
        return store.enqueue(items, { bookmark: { name: input.name, value: markToText(mark) } })
      },
      stats: () => ({ ...store.stats(), maxCount: maxWaiting, maxBytes: MAX_WAITING_BYTES }),
    },
  )
  const part = { ...target, stats: () => ({ ...target.stats(), refused: reading.refused }) }
  panel?.update(part)
  const { stop = stopSignals(terminal.host) } = job

  /** Stops reading. Accepted events go on. */
  const breakOff = (error: unknown): void => {
    if (!reading.isBroken)
      note(`the input was not read to its end: ${whyNot(error)}; delivery of what was accepted goes on`)
    reading.isBroken = true
  }

  const offer = async (at: number, value: unknown): Promise<void> => {
    line = at
    mark = store && input.mark?.()
    const answer = await target.offer(value)
    if (answer._tag === 'Right' || answer.left._tag === 'Closed') return
    const refusal = answer.left
    if (refusal._tag === 'Full') {
      // There was room for one more, but not for one of this size.
      if (target.stats().waiting > 0) await firstValueFrom(ends, { defaultValue: undefined })
      if (!stop.gently.aborted) await offer(at, value)
      return
    }
    refuse(at, refusal, value)
    // A disk that fails would refuse all the rest, too; the same command goes on from here later.
    if (refusal._tag === 'NotStored') breakOff(new Error(show(refusal)))
  }

  /** Where an earlier run stopped reading this file. */
  const startOf = async (): Promise<Cursor | undefined> => {
    const { name = '', has } = input
    const stored = job.fromStart === true || name === '' ? undefined : await store?.bookmark(name)
    const last = markFromText(stored ?? '')
    if (last === undefined) return undefined
    const place = `line ${String(last.line)}`
    reading.isResumed = (await has?.(last)) === true
    if (reading.isResumed) {
      note(`${name}: going on after ${place}; --from-start sends all of it again`)
      return last
    }
    const other = 'not the file that an earlier run read'
    const remedy = 'give it an outbox of its own, or read it from its first line with --from-start'
    if (!last.isEnd) throw new Error(`it is ${other} up to ${place} without reaching its end: ${remedy}`)
    note(`${name} is ${other}: reading it from its first line`)
    return undefined
  }

  const readAll = async (): Promise<void> => {
    const undecided: Array<Promise<void>> = []
    const isOver = (): boolean => stop.gently.aborted || reading.isBroken
    mark = await startOf()
    const before = mark?.line ?? 0
    for await (const read of input.lines(stop.gently, mark)) {
      await out.caughtUp()
      if (read._tag === 'Right') await target.ready()
      if (isOver()) break
      if (read._tag === 'Left') {
        const at = before + read.left.line
        refuse(at, read.left)
        const place = store && input.mark?.()
        // A last line without a line feed may still be written to.
        if (place?.line === at) mark = place
      } else undecided.push(offer(before + read.right.line, read.right.value))
      if (undecided.length >= (store ? MAX_UNDECIDED : 1)) await Promise.all(undecided.splice(0))
    }
    await Promise.all(undecided)
    if (isOver()) return
    if (input.name !== undefined && mark !== undefined)
      await store?.remember({ name: input.name, value: markToText({ ...mark, isEnd: true }) })
    reading.isAtEnd = true
  }

  let erase = (): void => undefined
  if (input.isKeyboard) note('reading events from the keyboard, one JSON object a line; Ctrl-D ends')
  else if (output === 'live') erase = drawLive(terminal, [part], { limit: job.retryFor })
  else if (err.isTTY && output !== 'quiet') erase = drawProgress(terminal, target.stats)
  stop.gently.addEventListener('abort', () => {
    erase()
    erase = drawStopping(terminal, job.grace + LAST_ATTEMPT, () => target.stats().waiting)
    ends.next()
    void target.close({ timeout: job.grace })
  })

  const toTheEnd = async (): Promise<void> => {
    await readAll().catch((error: unknown) => {
      // A stop makes the input fail, too.
      if (!stop.gently.aborted) breakOff(error)
    })
    await Promise.race([target.idle(), aborted(stop.gently)])
    if (job.epilogue && !stop.gently.aborted) return
    // After a stop this answers the close that began then.
    await target.close({ timeout: job.grace })
  }
  await Promise.race([toTheEnd(), aborted(stop.now)])
  if (stop.now.aborted) for (const item of outstanding) dead?.add(item, 'abandoned: stopped at once')
  erase()
  await dead?.close()

  const summary = summaryOf(reading.refused, target.stats())
  for (const [url, { delivered, failed, skipped }] of Object.entries(urls.stats())) {
    report({ t: 'url', url, delivered, failed, passedOver: skipped })
    const busy = skipped === 0 ? '' : `, ${String(skipped)} skipped while it was busy`
    if (output !== 'json') note(`${url}  ${String(delivered)} succeeded, ${String(failed)} failed${busy}`)
  }
  const forgotten = store && (store.stats().evictedDeadLetters ?? 0) - evictedBefore
  if (output === 'json' && !out.gone.aborted) out.line(toJson({ t: 'summary', ...summary, forgotten }))
  else note(showSummary(`read ${String(summary.read)}`, summary.refused, summary))

  const { accepted, delivered, rejected, expired, waiting, read } = summary
  const { corrupt, isResumed, isBroken, isAtEnd } = reading
  const { count, failure } = dead?.written ?? { count: 0, failure: '' }
  const lost = accepted - delivered
  const deadCount = rejected + expired + corrupt
  const place = String(job.place?.name)
  const file = String(job.dead)
  if (!isAtEnd && !isBroken) note('stopped: the input was not read to its end')
  if (read === 0 && !isBroken) {
    const nothing = `the input holds ${isResumed ? 'nothing new' : 'no events'}`
    note(`${nothing},${store ? ` and nothing waited in ${place},` : ''} so there was nothing to send`)
  }
  if ('dead' in job && !store && !dead && lost > 0)
    note(`${String(lost)} not delivered; --dead FILE keeps them to send again`)
  const readsOn = input.name !== undefined ? ', and reads on from here' : ''
  if (store && waiting > 0) note(`${String(waiting)} wait in ${place}: the same command sends them${readsOn}`)
  if (store && deadCount > 0) {
    const damaged = corrupt === 0 ? '' : `, ${counted(corrupt, 'damaged record')} among them`
    const holds = `${place} holds ${String(store.stats().dead)}${madeRoom(', ', forgotten)}`
    const see = `see headrace dead ls ${String(job.place?.flags)}`
    note(`${counted(deadCount, 'new dead letter')}${damaged}; ${holds}: ${see}`)
  }
  if (failure !== '')
    note(`--dead '${file}' could not be written: ${failure}; ${String(lost - count)} events are not in it`)
  if (count > 0) note(`${String(count)} not delivered, now in ${file}, which can be sent again`)
  // Others that share a queue may have delivered what was accepted here.
  const mine = server ? Math.min(accepted, delivered + deadCount + waiting) : accepted
  const code = isBroken || failure ? FAULT : exitCodeOf({ ...summary, accepted: mine }, isAtEnd, corrupt)
  if (!stop.gently.aborted) await job.epilogue?.(summary, target, stop.gently)
  if (job.epilogue) await target.close({ timeout: job.grace })
  erase()
  await panel?.close()
  const isCut = stop.gently.aborted && database?.isBusy() === true
  if (stop.now.aborted || isCut) await quit(terminal, out.hasFailed() ? FAULT : code)
  return { code, summary }
}
