/** Forwards lines to a destination or a client as fast as events end, until every event has ended. */
import { fstatSync, statSync } from 'node:fs'
import { Subject as Changes, firstValueFrom } from 'rxjs'
import type { Either } from '../core/either.ts'
import type { Awaitable } from '../core/awaitable.ts'
import { show, type Refusal } from '../core/refusal.ts'
import { urlCounters } from '../destination/urls.ts'
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
import { drawLive, drawStopping, outputOf } from './live.ts'
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

/** The line of each event; 0 if an earlier run accepted it. */
const lineNumbers = (maxKnown: number) => {
  const lines = new WeakMap<object, number>()
  /** Of items that have not ended: one that was read back from a disk is another object with the same id. */
  const linesById = new Map<string, number>()
  const lineOf = (item: Payload<Carried>): number => lines.get(item) ?? linesById.get(item.id) ?? 0
  return {
    set: (item: Payload<Carried>, line: number): void => {
      lines.set(item, line)
      // Other processes that share a queue have ended theirs.
      if (linesById.size > maxKnown) linesById.clear()
      linesById.set(item.id, line)
    },
    /** Late log events still find its line. */
    ended: (item: Payload<Carried>): void => {
      lines.set(item, lineOf(item))
      linesById.delete(item.id)
    },
    subjectOf: (item: unknown): Subject => {
      // Destinations and clients send payloads only.
      const sent = item as Payload<Carried>
      const head = { line: lineOf(sent.members?.[0] ?? sent), id: sent.id }
      if (sent.members === undefined) return { ...head, type: typeOf(sent) }
      return { ...head, type: 'batch', count: sent.members.length }
    },
  }
}

/** The outbox on a disk or a server, if there is one. `isBusy`: a statement has no answer yet. */
const openStore = async ({ place, maxWaiting }: Job, onCorrupt: () => void) => {
  if (place === undefined) return undefined
  const of = { codec: storedEvents, onCorrupt }
  const database = place.server && (await openPostgres(place.server))
  const bounds = { maxCount: maxWaiting + STORE_SLACK.count, maxBytes: MAX_WAITING_BYTES + STORE_SLACK.bytes }
  const outbox: BookmarkedOutbox<Payload<Event>> = database
    ? database.outboxOf(place.server.queue)(of)
    : lmdbOutbox({ path: place.name, ...bounds, ...of })
  await database?.opened()
  const evicted = (): number => outbox.stats().evictedDeadLetters ?? 0
  const before = evicted()
  return { place, outbox, isBusy: () => database?.isBusy() === true, evicted: () => evicted() - before }
}

/** The state of a run, which its parts share. */
type Run = Awaited<ReturnType<typeof openRun>>

const openRun = async (job: Job, terminal: Terminal) => {
  const { input, maxWaiting } = job
  const form = outputOf(job.output, terminal)
  // Keys that are typed would break the view.
  const output = form === 'live' && input.isKeyboard ? 'lines' : form
  const dead = job.dead === undefined ? undefined : openDeadFile(job.dead, input)
  /** `line`: of the event that is being offered; `mark` is behind it. */
  const start = { line: 0, mark: undefined as Cursor | undefined, refused: 0, corrupt: 0 }
  const reading = { ...start, isResumed: false, isBroken: false, isAtEnd: false }
  const store = await openStore(job, () => reading.corrupt++)
  const lines = lineNumbers(maxWaiting + STORE_SLACK.count)
  const urls = urlCounters()
  /** Accepted and not ended; only in memory, where a stop at once would lose them. */
  const outstanding = new Set<Stored>()
  const ends = new Changes<void>()
  const { out, err } = terminal
  const note = (sentence: string): void => err.line(`headrace: ${sentence}`)
  const report = (each: Report): void => writeReport(terminal, output, each)
  return { job, out, output, dead, reading, store, lines, urls, outstanding, ends, note, report }
}

/** Reports what the target tells, and keeps the account of its events. */
const runListener = ({ reading, store, lines, urls, outstanding, dead, ends, report }: Run): Listener => {
  const unknownKeys = new Set(['reason'])
  return (event) => {
    urls.onEvent(event)
    if (event._tag === 'Accepted' && store === undefined) {
      // Only events are accepted and end, never a batch.
      const item = event.item as Stored
      lines.set(item, reading.line)
      outstanding.add(item)
    }
    if (event._tag === 'UnknownKeys' && unknownKeys.size < MAX_UNKNOWN_KEYS) {
      const keys = event.keys.filter((key) => !unknownKeys.has(key))
      for (const key of keys) unknownKeys.add(key)
      if (keys.length > 0) report({ t: 'dropped', line: reading.line, keys })
    }
    const news = newsOf(event, lines.subjectOf)
    if (news !== undefined) report(news)
    if (event._tag !== 'Ended') return
    const item = event.outcome.item as Stored
    lines.ended(item)
    outstanding.delete(item)
    const { outcome, causes } = endingOf(event.outcome)
    const why = causes.length === 0 ? 'stopped before it was attempted' : showCauses(causes)
    if (outcome !== 'delivered') dead?.add(item, `${outcome}: ${why}`)
    ends.next()
  }
}

/** Stores an event with the place behind its line: after a kill the next run goes on there. */
const bookmarking = (outbox: BookmarkedOutbox<Payload<Event>>, run: Run): Outbox<Payload<Event>> => ({
  ...outbox,
  enqueue: (items) => {
    const { job, lines, reading } = run
    for (const item of items) lines.set(item, reading.line)
    if (job.input.name === undefined || reading.mark === undefined) return outbox.enqueue(items)
    return outbox.enqueue(items, { bookmark: { name: job.input.name, value: markToText(reading.mark) } })
  },
  stats: () => ({ ...outbox.stats(), maxCount: run.job.maxWaiting, maxBytes: MAX_WAITING_BYTES }),
})

/** Where an earlier run stopped reading this file. */
const resumePlace = async ({ job, reading, store, note }: Run): Promise<Cursor | undefined> => {
  const { name = '', has } = job.input
  const stored = job.fromStart === true || name === '' ? undefined : await store?.outbox.bookmark(name)
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

/** Offers each line to the target, until the end of the input, a fault of it, or a stop. */
const readInput = async (run: Run, target: LineTarget, stopped: AbortSignal): Promise<void> => {
  const { job, out, reading, store, ends, note, report } = run
  const { input } = job

  /** Stops reading. Accepted events go on. */
  const breakOff = (error: unknown): void => {
    if (!reading.isBroken)
      note(`the input was not read to its end: ${whyNot(error)}; delivery of what was accepted goes on`)
    reading.isBroken = true
  }
  const refuse = (at: number, refusal: BadLine | Refusal, value?: unknown): void => {
    reading.refused++
    report(refusalReport(at, refusal, value))
  }

  const offer = async (at: number, value: unknown): Promise<void> => {
    reading.line = at
    reading.mark = store && input.mark?.()
    const answer = await target.offer(value)
    if (answer._tag === 'Right' || answer.left._tag === 'Closed') return
    const refusal = answer.left
    if (refusal._tag === 'Full') {
      // There was room for one more, but not for one of this size.
      if (target.stats().waiting > 0) await firstValueFrom(ends, { defaultValue: undefined })
      if (!stopped.aborted) await offer(at, value)
      return
    }
    refuse(at, refusal, value)
    // A disk that fails would refuse all the rest, too; the same command goes on from here later.
    if (refusal._tag === 'NotStored') breakOff(new Error(show(refusal)))
  }

  const undecided: Array<Promise<void>> = []
  const isOver = (): boolean => stopped.aborted || reading.isBroken
  try {
    reading.mark = await resumePlace(run)
    const before = reading.mark?.line ?? 0
    for await (const read of input.lines(stopped, reading.mark)) {
      await out.caughtUp()
      if (read._tag === 'Right') await target.ready()
      if (isOver()) break
      if (read._tag === 'Left') {
        const at = before + read.left.line
        refuse(at, read.left)
        const place = store && input.mark?.()
        // A last line without a line feed may still be written to.
        if (place?.line === at) reading.mark = place
      } else undecided.push(offer(before + read.right.line, read.right.value))
      if (undecided.length >= (store ? MAX_UNDECIDED : 1)) await Promise.all(undecided.splice(0))
    }
    await Promise.all(undecided)
    if (isOver()) return
    if (input.name !== undefined && reading.mark !== undefined)
      await store?.outbox.remember({ name: input.name, value: markToText({ ...reading.mark, isEnd: true }) })
    reading.isAtEnd = true
  } catch (error) {
    // A stop makes the input fail, too.
    if (!stopped.aborted) breakOff(error)
  }
}

/** Tells the requests to each URL, and the account of all events. */
const tellAccount = ({ output, urls, store, note, report, out }: Run, summary: Summary) => {
  for (const [url, { delivered, failed, skipped }] of Object.entries(urls.stats())) {
    report({ t: 'url', url, delivered, failed, passedOver: skipped })
    const busy = skipped === 0 ? '' : `, ${String(skipped)} skipped while it was busy`
    if (output !== 'json') note(`${url}  ${String(delivered)} succeeded, ${String(failed)} failed${busy}`)
  }
  if (output === 'json' && !out.gone.aborted)
    out.line(toJson({ t: 'summary', ...summary, forgotten: store?.evicted() }))
  else note(showSummary(`read ${String(summary.read)}`, summary.refused, summary))
}

/** Tells what was not read or not delivered, and where that is now. */
const tellRest = ({ job, reading, store, dead, note }: Run, summary: Summary): void => {
  const { accepted, delivered, rejected, expired, waiting, read } = summary
  const { corrupt, isResumed, isBroken, isAtEnd } = reading
  const lost = accepted - delivered
  const place = String(store?.place.name)
  if (!isAtEnd && !isBroken) note('stopped: the input was not read to its end')
  // Over a server `read` counts the events of this run alone.
  if (read + delivered + rejected + expired + waiting === 0 && isAtEnd) {
    const nothing = `the input holds ${isResumed ? 'nothing new' : 'no events'}`
    note(`${nothing},${store ? ` and nothing waited in ${place},` : ''} so there was nothing to send`)
  }
  if ('dead' in job && !store && !dead && lost > 0)
    note(`${String(lost)} not delivered; --dead FILE keeps them to send again`)
  const readsOn = job.input.name !== undefined ? ', and reads on from here' : ''
  if (store && waiting > 0) note(`${String(waiting)} wait in ${place}: the same command sends them${readsOn}`)
  const deadCount = rejected + expired + corrupt
  if (store && deadCount > 0) {
    const damaged = corrupt === 0 ? '' : `, ${counted(corrupt, 'damaged record')} among them`
    const holds = `${place} holds ${String(store.outbox.stats().dead)}${madeRoom(', ', store.evicted())}`
    const see = `see headrace dead ls ${store.place.flags}`
    note(`${counted(deadCount, 'new dead letter')}${damaged}; ${holds}: ${see}`)
  }
  if (dead === undefined) return
  const { count, failure } = dead.written
  const file = String(job.dead)
  if (failure !== '')
    note(`--dead '${file}' could not be written: ${failure}; ${String(lost - count)} events are not in it`)
  if (count > 0) note(`${String(count)} not delivered, now in ${file}, which can be sent again`)
}

const runCode = ({ job, reading, dead }: Run, summary: Summary): number => {
  const { corrupt, isBroken, isAtEnd } = reading
  const { accepted, delivered, rejected, expired, waiting } = summary
  if (isBroken || dead?.written.failure) return FAULT
  // Others that share a queue may have delivered what was accepted here.
  const known = delivered + rejected + expired + corrupt + waiting
  const mine = job.place?.server ? Math.min(accepted, known) : accepted
  return exitCodeOf({ ...summary, accepted: mine }, isAtEnd, corrupt)
}

/** Runs a job to its end. @throws UsageError, OutboxError */
export const forward = async (job: Job, terminal: Terminal) => {
  const { input, epilogue } = job
  const { out, err } = terminal
  const run = await openRun(job, terminal)
  const { reading, store, dead, outstanding, ends, note, output } = run
  // Before anything is sent: its port may be in use.
  const panel = await openPanel(job.inspect, terminal).catch(async (error: unknown) => {
    await store?.outbox.close()
    throw error
  })
  const target = job.open(runListener(run), store && bookmarking(store.outbox, run))
  const close = () => target.close({ timeout: job.grace })
  const part = { ...target, stats: () => ({ ...target.stats(), refused: reading.refused }) }
  panel?.update(part)
  const { stop = stopSignals(terminal.host) } = job

  let erase = (): void => undefined
  if (input.isKeyboard) note('reading events from the keyboard, one JSON object a line; Ctrl-D ends')
  // The view would erase lines that a pipe brings to this screen.
  else if (err.isTTY && output !== 'quiet' && (out.isTTY || !fstatSync(1).isFIFO()))
    erase = drawLive(terminal, [part], { limit: job.retryFor })
  stop.gently.addEventListener('abort', () => {
    erase()
    erase = drawStopping(terminal, job.grace + LAST_ATTEMPT, () => target.stats().waiting)
    ends.next()
    void close()
  })

  const toTheEnd = async (): Promise<void> => {
    await readInput(run, target, stop.gently)
    await Promise.race([target.idle(), aborted(stop.gently)])
    // After a stop this answers the close that began then.
    if (!epilogue || stop.gently.aborted) await close()
  }
  await Promise.race([toTheEnd(), aborted(stop.now)])
  if (stop.now.aborted) for (const item of outstanding) dead?.add(item, 'abandoned: stopped at once')
  erase()
  await dead?.close()

  // What waits in a queue at the end of the input was added by others.
  const others = job.place?.server && !stop.gently.aborted ? { waiting: 0 } : {}
  const summary = summaryOf(reading.refused, { ...target.stats(), ...others })
  tellAccount(run, summary)
  tellRest(run, summary)
  const code = runCode(run, summary)
  if (!stop.gently.aborted) await epilogue?.(summary, target, stop.gently)
  if (epilogue) await close()
  erase()
  await panel?.close()
  const isCut = stop.gently.aborted && store?.isBusy() === true
  if (stop.now.aborted || isCut) await quit(terminal, out.hasFailed() ? FAULT : code)
  return { code, summary }
}
