import { left } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { whenSettled } from '../../internal/Awaitable.ts'
import { messageOf } from '../../internal/messageOf.ts'
import type { Tell } from '../../observe/Happening.ts'
import type { Outcome } from '../../outcome/Outcome.ts'
import { notKept } from '../../outcome/Refusal.ts'
import type { Refusal } from '../../outcome/Refusal.ts'
import type { BadLine, Line } from '../../sources/Line.ts'
import type { Report } from '../output/Report.ts'
import { reportOf } from '../output/reportOf.ts'
import { showCauses } from '../output/showCauses.ts'
import { causesOf } from '../output/causesOf.ts'
import type { Stop } from '../stopSignals.ts'
import { summaryOf } from '../Summary.ts'
import type { Summary } from '../Summary.ts'
import type { OpenCarrier } from './Carrier.ts'
import { positionOf, START } from './Position.ts'
import type { Position } from './Position.ts'
import { refusalReport } from './refusalReport.ts'
import { newlyDropped } from './newlyDropped.ts'
import { register } from './register.ts'
import { resumed } from './resumed.ts'

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
  /** Is told at once why the input cannot be read on; what was taken before goes on. */
  readonly broken: (error: unknown) => void
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

/** What a line held, and where it stood. */
interface Offer {
  readonly value: unknown
  readonly position: Position
}

/** A run at work. */
export interface Run {
  /** Whether what was accepted outlives it. */
  readonly durable: boolean
  readonly done: Promise<Account>
  /** The account so far. */
  readonly summary: () => Summary
}

/** So many may be on their way into the store: it syncs them together. */
const MOST_UNDECIDED = 255

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
  const again: Offer[] = []
  let position = START
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

  const tell: Tell = (happening) => {
    if (happening._tag === 'Accepted' && !carrier.durable) events.accepted(happening.item)
    if (happening._tag === 'KeysDropped') {
      const keys = unseen(happening.keys)
      if (keys.length > 0) report({ t: 'dropped', line: position.line, keys })
    }
    const told = reportOf(happening, events.subjectOf)
    if (told !== undefined) report(told)
    if (happening._tag === 'Ended') ended(happening.outcome)
  }

  const carrier = options.open(tell, {
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
      if (left._tag === 'Full') again.push(offer)
      else if (left._tag === 'Closed') cut = true
      else refuse(offer.position.line, left)
      // A disk that takes nothing: to read on would be to refuse all the rest, and a run to the end is not gone on with.
      if (left._tag === 'NotKept' && carrier.durable) breakOff(new Error(left.detail))
    }
    wake()
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
        decided(each, left(notKept(each.value, messageOf(error))))
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
        await carrier.ready()
        if (stop.gently.aborted) cut = true
        else if (next !== undefined) offer(next)
      }
    }
  }

  const take = async (read: Either<BadLine, Line>): Promise<void> => {
    await options.caughtUp()
    if (read._tag === 'Left') {
      refuse(read.left.line, read.left)
      return
    }
    await carrier.ready()
    if (stop.gently.aborted) cut = true
    else {
      const { line, text, value } = read.right
      offer({ value, position: positionOf(line, text) })
      await settle(MOST_UNDECIDED)
    }
  }

  const readAll = async (): Promise<void> => {
    try {
      for await (const read of resumed(options.lines, carrier.taken())) {
        if (!stop.gently.aborted) await take(read)
        cut ||= stop.gently.aborted
        if (cut) return
      }
      await settle(0)
      // The source may end by itself when it is told to stop.
      cut ||= stop.gently.aborted
    } catch (error) {
      cut = true
      if (!stop.gently.aborted) breakOff(error)
    }
  }

  const toTheEnd = async (): Promise<void> => {
    await readAll()
    await Promise.race([carrier.idle(), aborted(stop.gently)])
    if (!cut && carrier.totals().waiting === 0) await carrier.finished()
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
    return { summary: summary(), cut, inputError }
  }

  return { done: run(), summary, durable: carrier.durable }
}
