import type { Either } from 'fp-ts/lib/Either.js'
import type { BadLine, Line } from '../../sources/Line.ts'
import type { Report } from '../output/Report.ts'
import type { Stop } from '../stopSignals.ts'
import type { Summary } from '../Summary.ts'
import type { OpenCarrier, Stored } from './Carrier.ts'

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
