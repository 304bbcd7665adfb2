import type { Either } from 'fp-ts/lib/Either.js'
import type { UrlStats } from '../../destination/tally.ts'
import type { Awaitable } from '../../internal/Awaitable.ts'
import type { Tell } from '../../observe/Happening.ts'
import type { Refusal } from '../../outcome/Refusal.ts'
import type { Totals } from '../../outcome/Totals.ts'
import type { Position } from './Position.ts'

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
  /** How far the same input was taken by an earlier run that did not come to its end. */
  readonly taken: () => Position | undefined
  /** Is told that the input was read to its end and everything has ended: the next run begins anew. */
  readonly finished: () => Promise<void>
}

/** What a carrier asks of the run. */
export interface Reading {
  /** Where the run reads. */
  readonly position: () => Position
  /** What stands at this position has become this item, which will be accepted or not. */
  readonly offered: (item: unknown) => void
}

/** Opens a carrier that tells what happens in it. */
export type OpenCarrier = (tell: Tell, reading: Reading) => Carrier
