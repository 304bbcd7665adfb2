/**
 * The file that keeps what was not delivered, in the form in which it was read, so that it can be sent again.
 *
 * @module
 */

import { accessSync, constants, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { right, left } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { whenSettled, messageOf } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import type { Outcome } from '../core/outcome.ts'
import { show, notStored } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Totals } from '../core/totals.ts'
import type { UrlStats } from '../destination/counters.ts'
import type { Listener } from '../log/logEvent.ts'
import {
  both,
  capDelay,
  deadline,
  exponential,
  fullJitter,
  limitRetries,
  notBefore,
} from '../policy/retryPolicy.ts'
import type { RetryPolicy } from '../policy/retryPolicy.ts'
import { lineFile } from '../sink/ndjson.ts'
import type { BadLine, Line } from '../sources/ndjson.ts'
import { START, register, resumed } from './input.ts'
import type { Mark, Position, Input, Placed } from './input.ts'
import { whyNot, causesOf, showCauses, reportOf } from './report.ts'
import type { Report, Refused } from './report.ts'
import { undelivered, summaryOf } from './summary.ts'
import type { Summary } from './summary.ts'
import type { Stop } from './terminal.ts'
import { wrong } from './values.ts'
import type { Checked } from './values.ts'

/** An input that can be read a second time. */
export interface Origin {
  /** The name under which it is found again. */
  readonly name: string
  /** All of its lines once more, from the first. */
  readonly again: () => AsyncIterable<Either<BadLine, Line>>
  /** Is told what an earlier run has to do with it. */
  readonly onResumed: (how: Resumption) => void
}

/** What a run works with. */
export interface ForwardOptions {
  readonly lines: AsyncIterable<Either<BadLine, Line>>
  /** Where they come from, if they can be had again. */
  readonly origin?: Origin | undefined
  /** Where they go. Nothing is read while it has no room. */
  readonly open: OpenCarrier
  /** Milliseconds in which retries may still start after a stop. */
  readonly grace: number
  readonly stop: Pick<Stop, 'gently' | 'now'>
  readonly report: (report: Report) => void
  /** Is given each event that was not delivered, in the form in which it can be read again, with why. */
  readonly undelivered: (call: object, reason: string) => void
  /** Is told at once why the input cannot be read on; what was taken before goes on. */
  readonly broken: (error: unknown) => void
  /** Resolves when reports have been taken; nothing is read before. */
  readonly caughtUp: () => Promise<void>
}

/** So many lines were taken by an earlier run; or it took another input of the same name, to its end. */
export type Resumption = { readonly passed: number } | 'other'

/** How a run went. */
export interface Account {
  readonly summary: Summary
  /** What is known of the folder in which events wait, if they wait in one. */
  readonly stored: Stored | undefined
  /** So many lines were taken by an earlier run, and not sent again. */
  readonly passed: number
  /** Reading was stopped before the end of the input. */
  readonly cut: boolean
  /** Why reading failed, if it did. */
  readonly inputError: unknown
}

/** A run at work. */
export interface Run {
  /** Whether what was accepted outlives it. */
  readonly durable: boolean
  readonly done: Promise<Account>
  /** The account so far. */
  readonly summary: () => Summary
}

/** What carries events away, as a run sees it: a destination, or a batching client. */
export interface Carrier {
  /** Resolves when there is room for one more, or it is closed. */
  readonly ready: () => Promise<void>
  /** Takes whatever a line held into keeping, or says why not. */
  readonly offer: (value: unknown) => Awaitable<Either<Refusal, unknown>>
  /** Resolves when everything has ended. */
  readonly idle: () => Promise<unknown>
  /** Takes nothing more, and ends within so many milliseconds and an attempt's time. */
  readonly close: (within: number) => Promise<unknown>
  readonly totals: () => Totals
  /** How each URL did. */
  readonly urls: () => Readonly<Record<string, UrlStats>>
  /** Whether what it has accepted outlives the process. */
  readonly durable: boolean
  /** How far an input of this name was taken by an earlier run. */
  readonly taken: () => Mark | undefined
  /** Is told that the input was taken to its end, which is here. */
  readonly finished: (last: Position) => Promise<void>
  /** Of events that wait on a disk; undefined if they wait in memory. */
  readonly stored: () => Stored | undefined
}

/** What a person should know of a folder in which events wait. */
export interface Stored {
  /** Room for one more there is, or will be when something ends, or never: what cannot be read takes it, and does not end. */
  readonly room: 'free' | 'full' | 'spoilt'
  /** Of what waits. */
  readonly unreadable: number
  /** Dead letters that made room for newer ones since it was opened. */
  readonly forgotten: number
}

/** What a carrier asks of the run. */
export interface Reading {
  /** The name under which the input is found again; undefined if it cannot be read a second time. */
  readonly input: string | undefined
  /** Behind which the run began to read. */
  readonly start: () => Position
  /** Where the run reads. */
  readonly position: () => Position
  /** What stands at this position has become this item, which will be accepted or not. */
  readonly offered: (item: unknown) => void
}

/** Opens a carrier that tells what happens in it. */
export type OpenCarrier = (onEvent: Listener, reading: Reading) => Carrier

/** Keeps events. Nothing is written before the first of them. */
export interface DeadFile {
  /** In the form in which it was read. */
  readonly keep: (call: object, reason: string) => void
  /** How many are in the file. */
  readonly kept: () => number
  /** Why some are not, if some are not. */
  readonly failure: () => string | undefined
  /** Writes what is left and lets go. */
  readonly close: () => Promise<void>
}

const existing = (path: string): { readonly dev: bigint; readonly ino: bigint } | undefined =>
  statSync(path, { bigint: true, throwIfNoEntry: false })

/** Opens the file for appending. What is in it already stays: it was not delivered either. */
export const openDeadFile = (path: string, input: Input): Checked<DeadFile> => {
  try {
    const before = existing(path)
    if (before !== undefined && input.is(before))
      return wrong('--dead is the file that is read: give another one, or it would be sent again and again')
    accessSync(before === undefined ? dirname(path) : path, constants.W_OK)
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
      return wrong(`--dead '${path}' is a folder: give the name of a file`)
  } catch (error) {
    return wrong(`--dead '${path}' cannot be written: ${whyNot(error)}; give another place`)
  }
  return right(deadFile(path))
}

const deadFile = (path: string): DeadFile => {
  const file = lineFile(path)
  let kept = 0
  let failure: string | undefined
  return {
    keep: (call, reason) => {
      file.write(JSON.stringify({ ...call, reason }), (error) => {
        if (error instanceof Error) failure ??= whyNot(error)
        else kept++
      })
    },
    kept: () => kept,
    failure: () => failure,
    close: () =>
      new Promise((resolve) => {
        file.end(resolve)
      }),
  }
}

/** A file of dead letters has it on every line. */
const EXPECTED = new Set(['reason'])
/** So many names are remembered; what comes after them is not told. */
const MOST = 100

/** Lets each name through once, so that a misspelt key is told and a file full of them floods nobody. */
export const newlyDropped = (): ((keys: ReadonlyArray<string>) => ReadonlyArray<string>) => {
  const seen = new Set<string>()
  return (keys) => {
    const fresh = keys.filter((key) => !EXPECTED.has(key) && !seen.has(key)).slice(0, MOST - seen.size)
    for (const key of fresh) seen.add(key)
    return fresh
  }
}

/** What notes name. */
interface Names {
  readonly command: string
  readonly dead: string | undefined
  readonly outbox?: string | undefined
}

const ofReading = (
  { summary, passed, cut, inputError }: Account,
  { outbox }: Names,
): ReadonlyArray<string> => {
  if (inputError !== undefined) return []
  const waiting = outbox === undefined ? '' : ` and nothing waited in ${outbox},`
  const what = passed > 0 ? 'nothing new' : 'no events'
  return [
    ...(cut ? ['stopped: the input was not read to its end'] : []),
    ...(summary.read === 0 ? [`the input holds ${what},${waiting} so there was nothing to send`] : []),
  ]
}

const ofFolder = ({ summary, stored }: Account, folder: string): ReadonlyArray<string> => {
  const buried = summary.rejected + summary.expired
  const { unreadable, forgotten } = stored ?? { unreadable: 0, forgotten: 0 }
  const kept =
    forgotten > 0
      ? `and ${String(forgotten)} letters made room for newer ones and are gone; the rest is kept in ${folder}`
      : `kept in ${folder}`
  const readable = summary.waiting - unreadable
  return [
    ...(readable > 0
      ? [
          `${String(readable)} wait in ${folder}: the same command goes on with them, and with the rest of the input`,
        ]
      : []),
    ...(unreadable > 0
      ? [
          `${String(unreadable)} in ${folder} cannot be read, and are not sent: headrace dead purge --unreadable --outbox ${folder} forgets them`,
        ]
      : []),
    ...(buried > 0 ? [`${String(buried)} dead, ${kept}: see headrace dead ls --outbox ${folder}`] : []),
  ]
}

const ofDeadFile = (file: DeadFile, lost: number, { command, dead }: Names): ReadonlyArray<string> => {
  const name = String(dead)
  const failure = file.failure()
  return [
    ...(failure === undefined
      ? []
      : [
          `--dead '${name}' could not be written: ${failure}; ${String(lost - file.kept())} events are not in it`,
        ]),
    ...(file.kept() === 0
      ? []
      : [
          `${String(file.kept())} not delivered, now in ${name}; send them again with: headrace ${command} ${name} …`,
        ]),
  ]
}

/** What a person should know at the end, beside the numbers. */
export const notesOf = (
  names: Names,
  account: Account,
  dead: DeadFile | undefined,
): ReadonlyArray<string> => {
  const lost = undelivered(account.summary)
  const inMemory =
    lost > 0 && dead === undefined
      ? [`${String(lost)} not delivered; with --dead FILE they are kept, to be sent again`]
      : []
  return [
    ...ofReading(account, names),
    ...(names.outbox === undefined ? inMemory : ofFolder(account, names.outbox)),
    ...(dead === undefined ? [] : ofDeadFile(dead, lost, names)),
  ]
}

/** Why something was not delivered, for people; undefined if it was. */
export const reasonOf = (outcome: Outcome<unknown>): string | undefined => {
  switch (outcome._tag) {
    case 'Delivered':
      return undefined
    case 'Rejected':
      return `rejected: ${showCauses(causesOf(outcome.failure))}`
    case 'Expired':
      return `expired: ${showCauses(causesOf(outcome.failure))}`
    case 'Dropped':
      return `dropped: ${outcome.reason}`
    case 'Abandoned':
      return outcome.lastFailure === undefined
        ? 'abandoned: stopped before it was attempted'
        : `abandoned: stopped while it waited for its next attempt; ${showCauses(causesOf(outcome.lastFailure))}`
  }
}

/** A line that was turned away, and why. It says no value of it. */
export const refusalReport = (line: number, refusal: BadLine | Refusal): Refused => {
  const whole = (reason: Refused['reason'], message: string): Refused => ({
    t: 'refused',
    line,
    reason,
    faults: [{ path: '', message }],
  })
  switch (refusal._tag) {
    case 'BadLine':
      return whole(refusal.reason, refusal.detail)
    case 'Invalid':
      return { t: 'refused', line, reason: 'invalid', faults: refusal.faults }
    case 'TooLarge':
      return whole('tooLarge', show(refusal))
    default:
      return whole('notTaken', show(refusal))
  }
}

/** The retry policy of the decisions (DE4, DE5) with another deadline; 0 is one attempt and no retry. */
export const retryFor = (millis: number): RetryPolicy =>
  both(
    fullJitter(capDelay(600_000)(exponential())),
    both(millis === 0 ? limitRetries(0) : deadline(millis), notBefore),
  )

/** What a line held, and where it stood. */
interface Offer {
  readonly value: unknown
  readonly position: Position
  /** Nothing that could end waits beside it: if there is no room now, there never will be. */
  readonly isLast?: boolean
}

/** So many may be on their way into the store: it syncs them together. */
const MOST_UNDECIDED = 255

const SPOILT =
  'records that cannot be read take up all the room of --max-waiting, and do not end: allow more, or forget them with headrace dead purge --unreadable'

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else
      signal.addEventListener('abort', () => {
        resolve()
      })
  })

/**
 * Forwards lines to a carrier: reads on only as fast as events end, and ends when every one of them has. The memory it takes is
 * bounded by the carrier's bounds, however long the input is.
 */
export const forward = (options: ForwardOptions): Run => {
  const { stop, report } = options
  const events = register()
  const unseen = newlyDropped()
  const again: Offer[] = []
  let start = START
  let position = START
  /** The last line that was JSON. */
  let last = START
  /** Lines that an earlier run took. */
  let passed = 0
  let refused = 0
  let undecided = 0
  let cut = false
  let inputError: unknown
  let wake = (): void => undefined

  const ended = (outcome: Outcome<unknown>): void => {
    const reason = reasonOf(outcome)
    const calls = events.ended(outcome.item)
    if (reason !== undefined) for (const call of calls()) options.undelivered(call, reason)
    wake()
  }

  const onEvent: Listener = (happening) => {
    if (happening._tag === 'Accepted' && !carrier.durable) events.accepted(happening.item)
    if (happening._tag === 'UnknownKeys') {
      const keys = unseen(happening.keys)
      if (keys.length > 0) report({ t: 'dropped', line: position.line, keys })
    }
    const told = reportOf(happening, events.subjectOf)
    if (told !== undefined) report(told)
    if (happening._tag === 'Ended') ended(happening.outcome)
  }

  const carrier = options.open(onEvent, {
    input: options.origin?.name,
    start: () => start,
    position: () => position,
    offered: (item) => {
      events.offered(item, position.line)
    },
  })
  const summary = (): Summary => summaryOf(refused, carrier.totals())
  const somethingChanges = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve
    })

  const refuse = (line: number, refusal: BadLine | Refusal): void => {
    refused++
    report(refusalReport(line, refusal))
  }

  /** Nothing more is read. What was taken goes on. */
  const breakOff = (error: unknown): void => {
    if (inputError !== undefined) return
    cut = true
    inputError = error
    options.broken(error)
  }

  const decided = (offer: Offer, answer: Either<Refusal, unknown>): void => {
    undecided--
    if (answer._tag === 'Left') {
      const { left } = answer
      if (left._tag === 'Full' && offer.isLast === true) breakOff(new Error(SPOILT))
      else if (left._tag === 'Full') again.push(offer)
      else if (left._tag === 'Closed') cut = true
      else refuse(offer.position.line, left)
      // A disk that takes nothing: to read on would be to refuse all the rest, and a run to the end is not gone on with.
      if (left._tag === 'NotStored' && carrier.durable) breakOff(new Error(left.detail))
    }
    wake()
  }

  const isAllSpoilt = (): boolean => {
    const { unreadable } = carrier.stored() ?? { unreadable: 0 }
    return unreadable > 0 && unreadable >= carrier.totals().waiting
  }

  /** Waits for room; false if there will be none. */
  const room = async (): Promise<boolean> => {
    if (carrier.stored()?.room === 'full') await Promise.race([carrier.ready(), carrier.idle()])
    if (carrier.stored()?.room === 'spoilt') {
      breakOff(new Error(SPOILT))
      return false
    }
    await carrier.ready()
    cut ||= stop.gently.aborted
    return !cut
  }

  /** Offers a value, and does not wait for the answer: a store on a disk syncs many together. */
  const offer = (each: Offer): void => {
    undecided++
    position = each.position
    whenSettled(
      carrier.offer(each.value),
      (answer) => {
        decided(each, answer)
      },
      (error) => {
        decided(each, left(notStored(each.value, messageOf(error))))
      },
    )
  }

  /** Waits until no more than so many are undecided, and offers again what there was no room for: it comes before anything new. */
  const settle = async (most: number): Promise<void> => {
    while (!cut && (undecided > most || again.length > 0)) {
      if (undecided > most) await somethingChanges()
      else {
        // There was room, but not for one of its size.
        const next = again.shift()
        if (carrier.totals().waiting > 0) await Promise.race([somethingChanges(), carrier.idle()])
        if ((await room()) && next !== undefined) offer({ ...next, isLast: isAllSpoilt() })
      }
    }
  }

  const take = async ({ read, position: place }: Placed): Promise<void> => {
    await options.caughtUp()
    if (read._tag === 'Left') {
      refuse(read.left.line, read.left)
      return
    }
    if (!(await room())) return
    last = place
    offer({ value: read.right.value, position: place })
    await settle(MOST_UNDECIDED)
  }

  /** What is read: if an earlier run took some of it, what stands behind that. */
  const unread = (): AsyncIterable<Placed> => {
    const { lines, origin } = options
    const onPassed = (place: Position, count: number): void => {
      start = last = place
      passed = count
      origin?.onResumed({ passed: count })
    }
    const onOther = (): void => origin?.onResumed('other')
    const again = origin?.again ?? (() => lines)
    return resumed({ lines, again, mark: carrier.taken(), onPassed, onOther })
  }

  const readAll = async (): Promise<void> => {
    try {
      for await (const each of unread()) {
        if (!stop.gently.aborted) await take(each)
        cut ||= stop.gently.aborted
        if (cut) return
      }
      await settle(0)
      // The source may end by itself when it is told to stop.
      cut ||= stop.gently.aborted
      if (!cut) await carrier.finished(last)
    } catch (error) {
      cut = true
      if (!stop.gently.aborted) breakOff(error)
    }
  }

  const toTheEnd = async (): Promise<void> => {
    await readAll()
    await Promise.race([carrier.idle(), aborted(stop.gently)])
    // If it was stopped, this is the close that began then.
    await carrier.close(0)
  }

  const run = async (): Promise<Account> => {
    // It lets `ready` go, so whoever waits for room goes on too.
    void aborted(stop.gently).then(() => carrier.close(options.grace))
    await Promise.race([toTheEnd(), aborted(stop.now)])
    if (stop.now.aborted && !carrier.durable)
      for (const call of events.outstanding()) options.undelivered(call, 'abandoned: stopped at once')
    for (const [url, counts] of Object.entries(carrier.urls())) report({ t: 'url', url, ...counts })
    return { summary: summary(), stored: carrier.stored(), passed, cut, inputError }
  }

  return { done: run(), summary, durable: carrier.durable }
}
