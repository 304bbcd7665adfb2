/**
 * What a command reports while it works: one union, written as NDJSON with `--output json` and as lines for people otherwise. The
 * JSON form is a contract: `v` changes when it does.
 *
 * @module
 */
import type { Fault } from '../../outcome/Refusal.ts'
import type { Summary } from '../Summary.ts'

/** Which event it is. */
export interface Subject {
  /** Its line in the input, from 1; 0 for one that an earlier run accepted. */
  readonly line: number
  readonly id: string
  /** Its kind; `batch` for many that were sent as one. */
  readonly type: string
  /** How many events, of a batch. `line` is then that of the first. */
  readonly count?: number
}

/** Why one URL did not take an event. */
export interface Cause {
  /** The URL without its query. */
  readonly url?: string
  readonly reason: string
  readonly status?: number
  readonly detail?: string
}

/** A line that was turned away. */
export interface Refused {
  readonly t: 'refused'
  readonly line: number
  readonly reason: 'notJson' | 'notUtf8' | 'tooLong' | 'invalid' | 'tooLarge' | 'notTaken'
  readonly faults: ReadonlyArray<Fault>
}

/** Keys that no event has, at the line where each was seen first. */
export interface Dropped {
  readonly t: 'dropped'
  readonly line: number
  readonly keys: ReadonlyArray<string>
}

/** One request to one URL has its verdict. */
export interface Attempt extends Subject, Partial<Cause> {
  readonly t: 'attempt'
  readonly url: string
  /** From 1. */
  readonly n: number
  readonly ok: boolean
  readonly ms: number
}

/** All URLs failed, and it will be tried again. */
export interface Waiting extends Subject {
  readonly t: 'waiting'
  /** Attempts so far. */
  readonly n: number
  /** Until the next attempt. */
  readonly ms: number
  readonly because: string
  readonly causes: ReadonlyArray<Cause>
}

/** How it ended. */
export interface Ending {
  readonly t: 'outcome'
  readonly outcome: 'delivered' | 'rejected' | 'expired' | 'dropped' | 'abandoned'
  /** Attempts in all. */
  readonly n: number
  /** Who took it. */
  readonly url?: string
  readonly status?: number
  readonly causes: ReadonlyArray<Cause>
}

/** An event has ended. */
export interface Outcome extends Subject, Ending {}

/** How one URL did, at the end. */
export interface UrlTotals {
  readonly t: 'url'
  readonly url: string
  readonly delivered: number
  readonly failed: number
  readonly passedOver: number
}

/** The last of a run's reports. */
export interface Closing extends Summary {
  readonly t: 'summary'
}

/** What a run of `send` or `demo` reports. */
export type Report = Refused | Dropped | Attempt | Waiting | Outcome | UrlTotals | Closing

/** One line of NDJSON, of any command. */
export const toJson = (report: object): string => JSON.stringify({ v: 1, ...report })
