/**
 * Forwards lines to a destination or a client: reads on as fast as events end, and ends when every event has ended. Memory is bounded
 * by what may wait, however long the input is.
 */
import { accessSync, constants, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Either } from 'fp-ts/lib/Either.js'
import { Subject as Changes, firstValueFrom } from 'rxjs'
import type { Awaitable } from '../core/awaitable.ts'
import { show } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Totals } from '../core/totals.ts'
import { urlCounters } from '../destination/createDestination.ts'
import { callOf } from '../event/model.ts'
import type { Event } from '../event/event.ts'
import type { EventPayload, Payload } from '../event/payload.ts'
import type { Listener } from '../log/logEvent.ts'
import * as retry from '../policy/retryPolicy.ts'
import { lineFile } from '../sink/ndjson.ts'
import type { BadLine, Line } from '../sources/ndjson.ts'
import { markFromText } from './input.ts'
import type { Input, Mark } from './input.ts'
import { UsageError } from './options.ts'
import type { Output } from './options.ts'
import { drawProgress } from './progress.ts'
import { counted, endingOf, exitCodeOf, refusalReport, reportOf, reporter } from './report.ts'
import { showCauses, showSummary, summaryOf, toJson, whyNot } from './report.ts'
import type { Report, Subject, Summary } from './report.ts'
import { DEAD, FAULT, FINE, STOPPING, aborted, stopSignals } from './terminal.ts'
import type { Terminal } from './terminal.ts'

/** A destination or a client, as a run uses it. */
export interface Target {
  /** Resolves when there is room for one more, or it is closed. */
  readonly ready: () => Promise<void>
  readonly offer: (value: unknown) => Awaitable<Either<Refusal, unknown>>
  /** Resolves when everything has ended. */
  readonly idle: () => Promise<unknown>
  readonly close: (options: { readonly timeout: number }) => Promise<unknown>
  readonly stats: () => Totals
  /** For events that wait on a disk. */
  readonly stored?: Stored | undefined
}

export interface Stored {
  /** How far an earlier run read an input of this name. */
  readonly bookmark: (name: string) => string | undefined
  /** The input was read to its end. */
  readonly finish: (name: string, mark: Mark) => Promise<void>
  /** Dead letters removed to make room for newer ones, in this run. */
  readonly evicted: () => number
  /** Stored records that could not be read, and ended as dead letters. */
  readonly corrupt: () => number
}

/** What a target asks about the line that is being offered. */
export interface Reading {
  readonly input: string | undefined
  readonly mark: () => Mark | undefined
  /** Says that the line has become this item. */
  readonly offered: (item: unknown) => void
}

export type OpenTarget = (onEvent: Listener, reading: Reading) => Target

export interface Job {
  /** `send` or `batch`. */
  readonly command: string
  readonly input: Input
  readonly open: OpenTarget
  /** The file of `--dead`. */
  readonly dead?: string | undefined
  /** The folder of `--outbox`. */
  readonly outbox?: string | undefined
  /** Reads a file from its first line, whatever an earlier run has read. */
  readonly fromStart?: boolean
  /** Milliseconds in which retries may still start after a stop. */
  readonly grace: number
  readonly output: Output
  readonly onReport?: (report: Report) => void
}

/** Bytes of events that may wait. */
export const MAX_BYTES = 268_435_456

/** The standard retry policy with another deadline; 0 is one attempt. */
export const retryFor = (millis: number): retry.RetryPolicy => {
  const delays = retry.fullJitter(retry.capDelay(600_000)(retry.exponential()))
  const end = millis === 0 ? retry.limitRetries(0) : retry.deadline(millis)
  return retry.both(delays, retry.both(end, retry.respectRetryAfter))
}

/** Offers at a time to a store on a disk, which syncs them together. */
const MAX_UNDECIDED = 256
const MAX_UNKNOWN_KEYS = 100

/** A payload carries an event, or (of a client) only its kind. */
export type Item = Payload<Event | Event['type']>

const isItem = (item: unknown): item is Item =>
  typeof item === 'object' && item !== null && 'id' in item && 'items' in item && Array.isArray(item.items)

export const typeOf = ({ items: [carried] }: Item): Event['type'] | undefined =>
  typeof carried === 'object' ? carried.type : carried

const callIn = ({ items: [carried], text }: EventPayload<Event | Event['type']>): object =>
  // A client's text was written from an object.
  typeof carried === 'string' ? (JSON.parse(text) as object) : callOf(carried)

/** The events of a payload as calls that can be sent again. */
export const callsIn = (item: Item): ReadonlyArray<object> =>
  item.members === undefined ? [callIn(item)] : item.members.map(callIn)

/** Remembers the line of each item. */
const itemLines = () => {
  const lines = new WeakMap<object, number>()
  // An item that was read back from a disk is another object with the same id.
  const linesById = new Map<string, number>()
  const lineOf = (item: Item): number => {
    const first = item.members?.[0] ?? item
    return lines.get(first) ?? linesById.get(first.id) ?? 0
  }
  return {
    add: (item: Item, line: number): void => {
      lines.set(item, line)
      linesById.set(item.id, line)
    },
    end: (item: Item): void => {
      // Late log events still find its line.
      lines.set(item, lineOf(item))
      linesById.delete(item.id)
    },
    subjectOf: (item: unknown): Subject | undefined => {
      if (!isItem(item)) return undefined
      const { id, members } = item
      const line = lineOf(item)
      if (members !== undefined) return { line, id, type: 'batch', count: members.length }
      return { line, id, type: typeOf(item) ?? '' }
    },
  }
}

/** The file of `--dead`: events that were not delivered, as calls that can be sent again. It is made for the first of them. */
const openDeadFile = (path: string, { stats: read }: Input) => {
  const existing = statSync(path, { bigint: true, throwIfNoEntry: false })
  if (existing?.isDirectory() === true)
    throw new UsageError(`--dead '${path}' is a folder: give the name of a file`)
  if (read?.isFile() === true && read.dev === existing?.dev && read.ino === existing.ino)
    throw new UsageError(
      '--dead is the input file: give another one, or events would be sent again and again',
    )
  try {
    accessSync(existing === undefined ? dirname(path) : path, constants.W_OK)
  } catch (error) {
    throw new UsageError(`--dead '${path}' cannot be written: ${whyNot(error)}; give another file`)
  }
  const file = lineFile(path)
  let count = 0
  let failure: string | undefined
  return {
    add: (call: object, reason: string): void =>
      file.write(JSON.stringify({ ...call, reason }), (error) => {
        if (error instanceof Error) failure ??= whyNot(error)
        else count++
      }),
    count: (): number => count,
    failure: (): string | undefined => failure,
    close: (): Promise<void> => new Promise((resolve) => file.end(resolve)),
  }
}

/** Runs a job to its end. @throws UsageError */
export const forward = async (
  job: Job,
  terminal: Terminal,
): Promise<{ readonly code: number; readonly summary: Summary }> => {
  const { input, outbox, output } = job
  const { out, err, host } = terminal
  const dead = job.dead === undefined ? undefined : openDeadFile(job.dead, input)
  const items = itemLines()
  const urls = urlCounters()
  const write = reporter(terminal, output)
  /** Accepted and not ended; only in memory, where a stop at once would lose them. */
  const outstanding = new Set<Item>()
  const unknownKeys = new Set(['reason'])
  const ends = new Changes<void>()
  /** Of the line that is being offered. */
  let line = 0
  let mark: Mark | undefined
  let refused = 0
  let isResumed = false
  let isAtEnd = false
  let inputError: unknown

  const note = (sentence: string): void => err.line(`headrace: ${sentence}`)
  const report = (each: Report): void => {
    write(each)
    job.onReport?.(each)
  }

  const onUnknownKeys = (all: ReadonlyArray<string>): void => {
    const keys = all.filter((key) => !unknownKeys.has(key)).slice(0, MAX_UNKNOWN_KEYS - unknownKeys.size)
    for (const key of keys) unknownKeys.add(key)
    if (keys.length > 0) report({ t: 'dropped', line, keys })
  }

  const handBack = (item: Item, reason: string): void => {
    for (const call of callsIn(item)) dead?.add(call, reason)
  }

  const onEvent: Listener = (event) => {
    urls.onEvent(event)
    if (event._tag === 'Accepted' && stored === undefined && isItem(event.item)) {
      items.add(event.item, line)
      outstanding.add(event.item)
    }
    if (event._tag === 'UnknownKeys') onUnknownKeys(event.keys)
    const told = reportOf(event, items.subjectOf)
    if (told !== undefined) report(told)
    if (event._tag !== 'Ended') return
    const { item } = event.outcome
    const { outcome, causes } = endingOf(event.outcome)
    if (isItem(item)) {
      outstanding.delete(item)
      items.end(item)
      const why = causes.length === 0 ? 'stopped before it was attempted' : showCauses(causes)
      if (outcome !== 'delivered') handBack(item, `${outcome}: ${why}`)
    }
    ends.next()
  }

  const target = job.open(onEvent, {
    input: input.name,
    mark: () => mark,
    offered: (item) => {
      if (isItem(item)) items.add(item, line)
    },
  })
  const { stored } = target
  const stop = stopSignals(host)

  const refuse = (at: number, refusal: BadLine | Refusal): void => {
    refused++
    report(refusalReport(at, refusal))
  }

  /** Reads nothing more. What was accepted goes on. */
  const breakOff = (error: unknown): void => {
    if (inputError !== undefined) return
    inputError = error
    note(`the input was not read to its end: ${whyNot(error)}; delivery of what was accepted goes on`)
  }

  const offer = async (read: Line): Promise<void> => {
    line = read.line
    mark = stored === undefined ? undefined : input.markAt(line)
    const answer = await target.offer(read.value)
    if (answer._tag === 'Right' || answer.left._tag === 'Closed') return
    const refusal = answer.left
    if (refusal._tag === 'Full' && stored === undefined) {
      // There was room for one more, but not for one of this size.
      if (target.stats().waiting > 0) await firstValueFrom(ends, { defaultValue: undefined })
      if (!stop.gently.aborted) await offer(read)
      return
    }
    refuse(read.line, refusal)
    // A disk that fails would refuse all the rest, too; the same command goes on from here later.
    if (refusal._tag === 'NotStored' || refusal._tag === 'Full') breakOff(new Error(show(refusal)))
  }

  /** Where an earlier run stopped reading this file. */
  const startOf = async ({ name, has }: Input): Promise<Mark | undefined> => {
    if (name === undefined || job.fromStart === true) return undefined
    const last = markFromText(stored?.bookmark(name) ?? '')
    if (last === undefined) return undefined
    const place = `line ${String(last.line)}`
    isResumed = await has(last)
    if (isResumed) {
      const earlier = `${place}, up to which an earlier run read`
      note(`${name}: going on after ${earlier}; --from-start sends all of it again`)
      return last
    }
    const other = 'not the file that an earlier run read'
    const remedy = 'give it an outbox of its own, or read it from its first line with --from-start'
    if (!last.isEnd) throw new Error(`it is ${other} up to ${place} without reaching its end: ${remedy}`)
    note(`${name} is ${other}: reading it from its first line`)
    return undefined
  }

  const isOver = (): boolean => stop.gently.aborted || inputError !== undefined

  const readAll = async (): Promise<void> => {
    const undecided: Array<Promise<void>> = []
    mark = await startOf(input)
    for await (const read of input.lines(stop.gently, mark)) {
      if (isOver()) return
      await out.caughtUp()
      if (read._tag === 'Left') refuse(read.left.line, read.left)
      else {
        await target.ready()
        if (stop.gently.aborted) return
        undecided.push(offer(read.right))
        if (undecided.length >= (stored === undefined ? 1 : MAX_UNDECIDED))
          await Promise.all(undecided.splice(0))
      }
    }
    await Promise.all(undecided)
    if (isOver()) return
    if (input.name !== undefined && mark !== undefined) await stored?.finish(input.name, mark)
    isAtEnd = true
  }

  const toTheEnd = async (): Promise<void> => {
    await readAll().catch((error: unknown) => {
      // A stop makes the input fail, too.
      if (!stop.gently.aborted) breakOff(error)
    })
    await Promise.race([target.idle(), aborted(stop.gently)])
    // After a stop this answers the close that began then.
    await target.close({ timeout: 0 })
  }

  /** What people should know at the end beside the numbers. */
  const notes = (summary: Summary): void => {
    const when = (condition: boolean, sentence: string): void => {
      if (condition) note(sentence)
    }
    const lost = summary.accepted - summary.delivered
    when(!isAtEnd && inputError === undefined, 'stopped: the input was not read to its end')
    const empty = `the input holds ${isResumed ? 'nothing new' : 'no events'}`
    const waited = outbox === undefined ? '' : ` and nothing waited in ${outbox},`
    when(summary.read === 0 && inputError === undefined, `${empty},${waited} so there was nothing to send`)
    const keep = `${String(lost)} not delivered; --dead FILE keeps them, to be sent again`
    when(stored === undefined && dead === undefined && lost > 0, keep)
    if (stored !== undefined && outbox !== undefined) {
      const next = 'the same command delivers them, and reads on from here'
      when(summary.waiting > 0, `${String(summary.waiting)} wait in ${outbox}: ${next}`)
      const [corrupt, evicted] = [stored.corrupt(), stored.evicted()]
      const deadCount = summary.rejected + summary.expired + corrupt
      const damaged = corrupt === 0 ? '' : `, ${String(corrupt)} of them damaged records`
      const gone = evicted === 0 ? '' : `; ${String(evicted)} of the oldest were removed to make room`
      const list = `see headrace dead ls --outbox ${outbox}`
      when(deadCount > 0, `${String(deadCount)} dead letters are in ${outbox}${damaged}${gone}: ${list}`)
    }
    const [file, written, failure] = [String(job.dead), dead?.count() ?? 0, dead?.failure()]
    const missing = `${String(lost - written)} events are not in it`
    when(failure !== undefined, `--dead '${file}' could not be written: ${String(failure)}; ${missing}`)
    const again = `send them again with: headrace ${job.command} ${file} …`
    when(written > 0, `${String(written)} not delivered, now in ${file}; ${again}`)
  }

  const summaryNow = (): Summary => summaryOf(refused, target.stats())

  if (input.isKeyboard) note('reading events from the keyboard, one JSON object a line; Ctrl-D ends')
  stop.gently.addEventListener('abort', () => {
    err.line(STOPPING)
    ends.next()
    void target.close({ timeout: job.grace })
  })
  const isDrawn = err.isTTY && output !== 'quiet' && !input.isKeyboard
  const erase = isDrawn
    ? drawProgress(terminal, () => ({ ...summaryNow(), share: input.share() }))
    : undefined
  await Promise.race([toTheEnd(), aborted(stop.now)])
  if (stop.now.aborted) for (const item of outstanding) handBack(item, 'abandoned: stopped at once')
  erase?.()
  await dead?.close()

  const summary = summaryNow()
  for (const [url, counts] of Object.entries(urls.stats())) {
    const { delivered, failed, skipped } = counts
    report({ t: 'url', url, delivered, failed, passedOver: skipped })
    const busy = skipped === 0 ? '' : `, ${String(skipped)} skipped while it was busy`
    if (output !== 'json')
      note(`${url}  ${counted(delivered, 'request')} succeeded, ${String(failed)} failed${busy}`)
  }
  if (output === 'json') out.line(toJson({ t: 'summary', ...summary, forgotten: stored?.evicted() }))
  else note(showSummary(`read ${String(summary.read)}`, summary.refused, summary))
  notes(summary)
  const failure = out.failure()
  if (failure !== undefined) note(`the output could not be written: ${failure}`)
  stop.release()
  const isFaulty = inputError !== undefined || dead?.failure() !== undefined || failure !== undefined
  const ended = exitCodeOf(summary, !isAtEnd)
  const code = isFaulty
    ? FAULT
    : ended === FINE && stored !== undefined && stored.corrupt() > 0
      ? DEAD
      : ended
  // Requests in flight would keep the process alive.
  if (stop.now.aborted) host.exit(code)
  return { code, summary }
}
