import type { Either } from 'fp-ts/lib/Either.js'
import type { UrlStats } from '../../destination/tally.ts'
import type { Awaitable } from '../../internal/Awaitable.ts'
import type { Tell } from '../../observe/Happening.ts'
import type { Refusal } from '../../outcome/Refusal.ts'
import type { Totals } from '../../outcome/Totals.ts'
import type { Mark, Position } from './Position.ts'

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
export type OpenCarrier = (tell: Tell, reading: Reading) => Carrier
