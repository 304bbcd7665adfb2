import type { Either } from 'fp-ts/lib/Either.js'
import type { Tell } from '../../observe/Happening.ts'
import type { Outcome } from '../../outcome/Outcome.ts'
import type { BadLine, Line } from '../../sources/Line.ts'
import type { Report } from '../output/Report.ts'
import { reportOf } from '../output/reportOf.ts'
import { showCauses } from '../output/showCauses.ts'
import { causesOf } from '../output/causesOf.ts'
import type { Stop } from '../stopSignals.ts'
import { summaryOf } from '../Summary.ts'
import type { Summary } from '../Summary.ts'
import type { OpenCarrier } from './Carrier.ts'
import { refusalReport } from './refusalReport.ts'
import { newlyDropped } from './newlyDropped.ts'
import { register } from './register.ts'

/** What a run works with. */
export interface ForwardOptions {
  readonly lines: AsyncIterable<Either<BadLine, Line>>
  /** Where they go. Nothing is read while it has no room. */
  readonly open: OpenCarrier
  /** Milliseconds in which retries may still start after a stop. */
  readonly grace: number
  readonly stop: Pick<Stop, 'gently' | 'now'>
  readonly report: (report: Report) => void
  /** Is given each event that was not delivered, in the form in which it can be read again, with why. */
  readonly undelivered: (call: object, reason: string) => void
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
 * Forwards lines to a carrier: reads on only as fast as events end, and ends when every one of them has. The memory it takes is
 * bounded by the carrier's bounds, however long the input is.
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
    const calls = events.ended(outcome.item)
    if (reason !== undefined) for (const call of calls()) options.undelivered(call, reason)
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

  const carrier = options.open(tell)
  const summary = (): Summary => summaryOf(refused, carrier.totals())
  const somethingEnds = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve
    })

  /** Offers a value until it is taken or refused. False if it was neither, because we are stopping. */
  const offer = async (value: unknown): Promise<boolean> => {
    for (;;) {
      await carrier.ready()
      if (stop.gently.aborted) return false
      const sent = await carrier.offer(value)
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
    await Promise.race([carrier.idle(), aborted(stop.gently)])
    // If it was stopped, this is the close that began then.
    await carrier.close(0)
  }

  const run = async (): Promise<Account> => {
    // It lets `ready` go, so whoever waits for room goes on too.
    void aborted(stop.gently).then(() => carrier.close(options.grace))
    await Promise.race([toTheEnd(), aborted(stop.now)])
    if (stop.now.aborted)
      for (const call of events.outstanding()) options.undelivered(call, 'abandoned: stopped at once')
    for (const [url, counts] of Object.entries(carrier.urls())) report({ t: 'url', url, ...counts })
    return { summary: summary(), cut, inputError }
  }

  return { done: run(), summary }
}
