import type { Either } from 'fp-ts/lib/Either.js'
import type { Destination, DestinationOptions } from '../../destination/Destination.ts'
import type { Settings } from '../../destination/Settings.ts'
import { webhookDestination } from '../../destination/webhookDestination.ts'
import type { Call } from '../../event/Call.ts'
import type { Event } from '../../event/Event.ts'
import type { Tell } from '../../observe/Happening.ts'
import type { Outcome } from '../../outcome/Outcome.ts'
import { memoryOutbox } from '../../outbox/memoryOutbox.ts'
import type { BadLine, Line } from '../../sources/Line.ts'
import type { Report } from '../output/Report.ts'
import { reportOf } from '../output/reportOf.ts'
import { showCauses } from '../output/showCauses.ts'
import { causesOf } from '../output/causesOf.ts'
import type { Stop } from '../stopSignals.ts'
import { summaryOf } from '../Summary.ts'
import type { Summary } from '../Summary.ts'
import { refusalReport } from './refusalReport.ts'
import { newlyDropped } from './newlyDropped.ts'
import { register } from './register.ts'

/** What a run works with. */
export interface ForwardOptions {
  readonly lines: AsyncIterable<Either<BadLine, Line>>
  readonly settings: Settings
  readonly destination: Omit<DestinationOptions, 'outbox' | 'tell' | 'maxCount' | 'maxBytes'>
  /** Accepted and not ended, at most: beyond it nothing is read. */
  readonly maxWaiting: number
  /** The same in bytes of body; default 268,435,456, that is 256 MiB (DE9). */
  readonly maxBytes?: number
  /** Milliseconds in which retries may still start after a stop. */
  readonly grace: number
  readonly stop: Pick<Stop, 'gently' | 'now'>
  readonly report: (report: Report) => void
  /** Is given each event that was not delivered, with why. */
  readonly undelivered: (event: Event, reason: string) => void
  /** Resolves when reports have been taken; nothing is read before. */
  readonly caughtUp: () => Promise<void>
}

/** How a run went. */
export interface Account {
  readonly summary: Summary
  /** Reading was stopped before the end of the input. */
  readonly cut: boolean
  /** Why reading failed, if it did. */
  readonly inputError: unknown
}

/** A run at work. */
export interface Run {
  readonly done: Promise<Account>
  /** The account so far. */
  readonly summary: () => Summary
}

const MOST_BYTES = 268_435_456

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else
      signal.addEventListener('abort', () => {
        resolve()
      })
  })

const reasonOf = (outcome: Outcome<unknown>): string | undefined => {
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
      return outcome.last === undefined
        ? 'abandoned: stopped before it was attempted'
        : `abandoned: stopped while it waited for its next attempt; ${showCauses(causesOf(outcome.last))}`
  }
}

/**
 * Forwards lines to a destination: reads on only as fast as events end, and ends when every one of them has. The memory it takes is
 * bounded by `maxWaiting`, however long the input is.
 */
export const forward = (options: ForwardOptions): Run => {
  const { stop, report } = options
  const events = register()
  const unseen = newlyDropped()
  let line = 0
  let refused = 0
  let cut = false
  let inputError: unknown
  let wake = (): void => undefined

  const ended = (outcome: Outcome<unknown>): void => {
    const reason = reasonOf(outcome)
    for (const event of events.ended(outcome.item))
      if (reason !== undefined) options.undelivered(event, reason)
    wake()
  }

  const tell: Tell = (happening) => {
    if (happening._tag === 'Accepted') events.accepted(happening.item, line)
    if (happening._tag === 'KeysDropped') {
      const keys = unseen(happening.keys)
      if (keys.length > 0) report({ t: 'dropped', line, keys })
    }
    const told = reportOf(happening, events.subjectOf)
    if (told !== undefined) report(told)
    if (happening._tag === 'Ended') ended(happening.outcome)
  }

  const { maxWaiting: maxCount, maxBytes = MOST_BYTES } = options
  const destination: Destination = webhookDestination(options.settings, {
    ...options.destination,
    maxCount,
    maxBytes,
    // Dead events are reported and handed over, not kept.
    outbox: memoryOutbox({ maxCount, maxBytes, keepDead: 0 }),
    tell,
  })

  const summary = (): Summary => summaryOf(refused, destination.stats())
  const somethingEnds = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve
    })

  /** Offers a value until it is taken or refused. False if it was neither, because we are stopping. */
  const offer = async (value: unknown): Promise<boolean> => {
    for (;;) {
      await destination.ready()
      if (stop.gently.aborted) return false
      // Whatever it is: `send` looks at it, and answers `Invalid` for what is no call.
      const sent = await destination.send(value as Call)
      if (sent._tag === 'Right') return true
      if (sent.left._tag === 'Closed') return false
      if (sent.left._tag !== 'Full') {
        refused++
        report(refusalReport(line, sent.left))
        return true
      }
      // There was room, but not for one of its size.
      await somethingEnds()
    }
  }

  const take = async (read: Either<BadLine, Line>): Promise<boolean> => {
    await options.caughtUp()
    if (read._tag === 'Right') {
      line = read.right.line
      return offer(read.right.value)
    }
    line = read.left.line
    refused++
    report(refusalReport(line, read.left))
    return true
  }

  const readAll = async (): Promise<void> => {
    try {
      for await (const read of options.lines) {
        cut = stop.gently.aborted || !(await take(read))
        if (cut) return
      }
      // The source may end by itself when it is told to stop.
      cut = stop.gently.aborted
    } catch (error) {
      cut = true
      if (!stop.gently.aborted) inputError = error
    }
  }

  const toTheEnd = async (): Promise<void> => {
    await readAll()
    await Promise.race([destination.idle(), aborted(stop.gently)])
    // If it was stopped, this is the close that began then.
    await destination.close({ timeout: 0 })
  }

  const run = async (): Promise<Account> => {
    // It lets `ready` go, so whoever waits for room goes on too.
    void aborted(stop.gently).then(() => destination.close({ timeout: options.grace }))
    await Promise.race([toTheEnd(), aborted(stop.now)])
    if (stop.now.aborted)
      for (const event of events.outstanding()) options.undelivered(event, 'abandoned: stopped at once')
    for (const [url, counts] of Object.entries(destination.stats().urls)) report({ t: 'url', url, ...counts })
    return { summary: summary(), cut, inputError }
  }

  return { done: run(), summary }
}
