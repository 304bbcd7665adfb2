/**
 * Forwards lines to a destination or a client: reads on as fast as events end, and ends when every event has ended. Memory is bounded
 * by what may wait, however long the input is.
 *
 * @module
 */

import { left } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { Subject as Changes, firstValueFrom } from 'rxjs'
import { messageOf } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import type { Outcome } from '../core/outcome.ts'
import { notStored, show } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Totals } from '../core/totals.ts'
import type { UrlStats } from '../destination/counters.ts'
import { callOf } from '../event/call.ts'
import type { Event } from '../event/event.ts'
import type { EventPayload, Payload } from '../event/payload.ts'
import type { Listener } from '../log/logEvent.ts'
import type { BadLine, Line } from '../sources/ndjson.ts'
import { markFromText } from './input.ts'
import type { Input, Mark } from './input.ts'
import { causesOf, refusalReport, reportOf, showCauses } from './report.ts'
import type { Report, Subject } from './report.ts'
import { summaryOf } from './summary.ts'
import type { Summary } from './summary.ts'
import { aborted } from './terminal.ts'
import type { Stop } from './terminal.ts'

/** A destination or a client, as a run uses it. */
export interface Target {
  /** Resolves when there is room for one more, or it is closed. */
  readonly ready: () => Promise<void>
  readonly offer: (value: unknown) => Awaitable<Either<Refusal, unknown>>
  /** Resolves when everything has ended. */
  readonly idle: () => Promise<unknown>
  /** Accepts nothing more; retries may still start within `timeout` milliseconds. */
  readonly close: (timeout: number) => Promise<unknown>
  readonly totals: () => Totals
  readonly urls: () => Readonly<Record<string, UrlStats>>
  /** For events that wait on a disk. */
  readonly stored?: Stored
}

export interface Stored {
  /** How far an earlier run read an input of this name, as text. */
  readonly bookmark: (name: string) => string | undefined
  /** The input was read to its end. */
  readonly finish: (name: string, mark: Mark) => Promise<void>
  /** Dead letters removed to make room for newer ones, in this run. */
  readonly evicted: () => number
  /** Stored records that could not be read, and ended as dead letters. */
  readonly corrupt: () => number
}

/** What a target asks of the run. */
export interface Reading {
  readonly input: string | undefined
  /** The place behind the line that is being offered. */
  readonly mark: () => Mark | undefined
  /** Says that the line that is being offered has become this item. */
  readonly offered: (item: unknown) => void
}

export type OpenTarget = (onEvent: Listener, reading: Reading) => Target

export interface ForwardOptions {
  readonly input: Pick<Input, 'name' | 'lines' | 'markAt' | 'has'>
  readonly open: OpenTarget
  /** Milliseconds in which retries may still start after a stop. */
  readonly grace: number
  readonly stop: Pick<Stop, 'gently' | 'now'>
  /** Reads a file from its first line, whatever an earlier run has read. */
  readonly fromStart?: boolean
  readonly report: (report: Report) => void
  /** Gets each event that was not delivered, as a call that can be sent again. */
  readonly undelivered: (call: object, reason: string) => void
  /** Says that an earlier run read up to this line; 0 if the file is another one and is read from its first line. */
  readonly onResumed: (line: number) => void
  /** The input cannot be read on. What was accepted before goes on. */
  readonly onInputError: (error: unknown) => void
  /** Resolves when the reports have been taken; nothing is read before. */
  readonly caughtUp: () => Promise<void>
}

/** How a run went. */
export interface Account {
  readonly summary: Summary
  /** Dead letters removed to make room, if events wait on a disk. */
  readonly evicted: number | undefined
  /** Stored records that could not be read. */
  readonly corrupt: number
  /** Whether an earlier run had read a part of the input. */
  readonly isResumed: boolean
  /** Reading was stopped before the end of the input. */
  readonly cut: boolean
  readonly inputError: unknown
}

export interface Run {
  readonly done: Promise<Account>
  /** The account so far. */
  readonly summary: () => Summary
}

/** Offers at a time to a store on a disk, which syncs them together. */
const MAX_UNDECIDED = 256
const NO_CHANGE = { defaultValue: undefined }
const MAX_UNKNOWN_KEYS = 100

/** Why something was not delivered; undefined if it was. */
export const reasonOf = (outcome: Outcome<unknown>): string | undefined => {
  switch (outcome._tag) {
    case 'Delivered':
      return undefined
    case 'Rejected':
    case 'Expired':
      return `${outcome._tag.toLowerCase()}: ${showCauses(causesOf(outcome.failure))}`
    case 'Dropped':
      return `dropped: ${outcome.reason}`
    case 'Abandoned':
      return outcome.lastFailure === undefined
        ? 'abandoned: stopped before it was attempted'
        : `abandoned: stopped while it waited for its next attempt; ${showCauses(causesOf(outcome.lastFailure))}`
  }
}

/** A payload carries an event, or (of a client) only its kind. */
type Item = Payload<Event | Event['type']>

const isItem = (item: unknown): item is Item =>
  typeof item === 'object' && item !== null && 'id' in item && 'items' in item && Array.isArray(item.items)

const callIn = ({ items: [carried], text }: EventPayload<Event | Event['type']>): object =>
  // A client's text was written from an object.
  typeof carried === 'string' ? (JSON.parse(text) as object) : callOf(carried)

/** The events of a payload as calls that can be sent again. */
export const callsIn = (item: Item): ReadonlyArray<object> =>
  item.members === undefined ? [callIn(item)] : item.members.map(callIn)

/** Remembers the line of each item until it has ended. */
const itemLines = () => {
  const lines = new WeakMap<object, number>()
  // An item that was read back from a disk is another object with the same id.
  const linesById = new Map<string, number>()
  const lineOf = (item: Item): number => {
    const first = item.members?.[0] ?? item
    return lines.get(first) ?? linesById.get(first.id) ?? 0
  }
  return {
    add: (item: unknown, line: number): void => {
      if (!isItem(item)) return
      lines.set(item, line)
      linesById.set(item.id, line)
    },
    /** Late log events of an ended item still find its line. */
    end: (item: Item): void => {
      lines.set(item, lineOf(item))
      linesById.delete(item.id)
    },
    subjectOf: (item: unknown): Subject | undefined => {
      if (!isItem(item)) return undefined
      const line = lineOf(item)
      if (item.members !== undefined) return { line, id: item.id, type: 'batch', count: item.members.length }
      const [carried] = item.items
      return { line, id: item.id, type: typeof carried === 'string' ? carried : carried.type }
    },
  }
}

const changed = ({ line }: Mark): Error =>
  new Error(
    `it is not the file that an earlier run read up to line ${String(line)} without reaching its end: give it an outbox of its own, or read it from its first line with --from-start`,
  )

export const forward = (options: ForwardOptions): Run => {
  const { input, stop, report } = options
  const items = itemLines()
  /** Accepted and not ended; only in memory, where a stop at once would lose them. */
  const outstanding = new Set<Item>()
  const unknownKeys = new Set(['reason'])
  const changes = new Changes<void>()
  /** Of the line that is being offered. */
  let line = 0
  let mark: Mark | undefined
  let refused = 0
  let undecided = 0
  let cut = false
  let isResumed = false
  let inputError: unknown

  const onUnknownKeys = (keys: ReadonlyArray<string>): void => {
    const fresh = keys.filter((key) => !unknownKeys.has(key)).slice(0, MAX_UNKNOWN_KEYS - unknownKeys.size)
    for (const key of fresh) unknownKeys.add(key)
    if (fresh.length > 0) report({ t: 'dropped', line, keys: fresh })
  }

  const onEnded = (outcome: Outcome<unknown>): void => {
    const { item } = outcome
    const reason = reasonOf(outcome)
    if (isItem(item)) {
      outstanding.delete(item)
      items.end(item)
      if (reason !== undefined) for (const call of callsIn(item)) options.undelivered(call, reason)
    }
    changes.next()
  }

  const onEvent: Listener = (event) => {
    if (event._tag === 'Accepted' && target.stored === undefined && isItem(event.item)) {
      items.add(event.item, line)
      outstanding.add(event.item)
    }
    if (event._tag === 'UnknownKeys') onUnknownKeys(event.keys)
    const told = reportOf(event, items.subjectOf)
    if (told !== undefined) report(told)
    if (event._tag === 'Ended') onEnded(event.outcome)
  }

  const target = options.open(onEvent, {
    input: input.name,
    mark: () => mark,
    offered: (item) => items.add(item, line),
  })
  const { stored } = target

  const summary = (): Summary => summaryOf(refused, target.totals())

  const refuse = (at: number, refusal: BadLine | Refusal): void => {
    refused++
    report(refusalReport(at, refusal))
  }

  /** Reads nothing more. What was accepted goes on. */
  const breakOff = (error: unknown): void => {
    if (inputError !== undefined) return
    cut = true
    inputError = error
    options.onInputError(error)
  }

  const decide = (at: number, refusal: Refusal): void => {
    if (refusal._tag === 'Closed') cut = true
    else refuse(at, refusal)
    // A disk that fails would refuse all the rest, too; the same command goes on from here later.
    if (stored === undefined) return
    if (refusal._tag === 'NotStored') breakOff(new Error(refusal.detail))
    if (refusal._tag === 'Full') breakOff(new Error(show(refusal)))
  }

  const attempt = async ({ line: at, value }: Line): Promise<Either<Refusal, unknown>> => {
    line = at
    if (stored !== undefined) mark = input.markAt(at)
    try {
      return await target.offer(value)
    } catch (error) {
      return left(notStored(value, messageOf(error)))
    }
  }

  const offer = async (read: Line): Promise<void> => {
    undecided++
    for (;;) {
      const answer = await attempt(read)
      // There was room for one more, but not for one of this size.
      if (answer._tag === 'Left' && answer.left._tag === 'Full' && stored === undefined && !cut) {
        if (target.totals().waiting > 0) await firstValueFrom(changes, NO_CHANGE)
        continue
      }
      if (answer._tag === 'Left') decide(read.line, answer.left)
      break
    }
    undecided--
    changes.next()
  }

  const undecidedBelow = async (count: number): Promise<void> => {
    while (undecided >= count && !cut) await firstValueFrom(changes, NO_CHANGE)
  }

  const take = async (read: Either<BadLine, Line>): Promise<void> => {
    await options.caughtUp()
    if (read._tag === 'Left') {
      refuse(read.left.line, read.left)
      return
    }
    await target.ready()
    if (stop.gently.aborted) return
    const decided = offer(read.right)
    await (stored === undefined ? decided : undecidedBelow(MAX_UNDECIDED))
  }

  /** Where an earlier run stopped reading this file. */
  const startOf = async (): Promise<Mark | undefined> => {
    if (stored === undefined || input.name === undefined || options.fromStart === true) return undefined
    const taken = markFromText(stored.bookmark(input.name))
    if (taken === undefined) return undefined
    isResumed = await input.has(taken)
    if (!isResumed && !taken.isEnd) throw changed(taken)
    options.onResumed(isResumed ? taken.line : 0)
    return isResumed ? taken : undefined
  }

  const readAll = async (): Promise<void> => {
    try {
      const from = await startOf()
      mark = from
      for await (const read of input.lines(stop.gently, from)) {
        if (!stop.gently.aborted) await take(read)
        cut ||= stop.gently.aborted
        if (cut) return
      }
      await undecidedBelow(1)
      // The source may end by itself when it is aborted.
      cut ||= stop.gently.aborted
      if (!cut && input.name !== undefined && mark !== undefined) await stored?.finish(input.name, mark)
    } catch (error) {
      cut = true
      if (!stop.gently.aborted) breakOff(error)
    }
  }

  const toTheEnd = async (): Promise<void> => {
    await readAll()
    await Promise.race([target.idle(), aborted(stop.gently)])
    // After a stop this answers the close that began then.
    await target.close(0)
  }

  const run = async (): Promise<Account> => {
    void aborted(stop.gently).then(() => {
      changes.next()
      return target.close(options.grace)
    })
    await Promise.race([toTheEnd(), aborted(stop.now)])
    if (stop.now.aborted)
      for (const item of outstanding)
        for (const call of callsIn(item)) options.undelivered(call, 'abandoned: stopped at once')
    for (const [url, counts] of Object.entries(target.urls())) report({ t: 'url', url, ...counts })
    const [evicted, corrupt] = [stored?.evicted(), stored?.corrupt() ?? 0]
    return { summary: summary(), evicted, corrupt, isResumed, cut, inputError }
  }

  return { done: run(), summary }
}
