import { left } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { whenSettled } from '../../internal/Awaitable.ts'
import { messageOf } from '../../internal/messageOf.ts'
import type { Tell } from '../../observe/Happening.ts'
import type { Outcome } from '../../outcome/Outcome.ts'
import { notKept } from '../../outcome/Refusal.ts'
import type { Refusal } from '../../outcome/Refusal.ts'
import type { BadLine } from '../../sources/Line.ts'
import { reportOf } from '../output/reportOf.ts'
import { summaryOf } from '../Summary.ts'
import type { Summary } from '../Summary.ts'
import type { Account, ForwardOptions, Run } from './ForwardContract.ts'
import { START } from './Position.ts'
import type { Placed, Position } from './Position.ts'
import { reasonOf } from './reasonOf.ts'
import { refusalReport } from './refusalReport.ts'
import { newlyDropped } from './newlyDropped.ts'
import { register } from './register.ts'
import { resumed } from './resumed.ts'

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
      if (left._tag === 'NotKept' && carrier.durable) breakOff(new Error(left.detail))
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
