/**
 * The way to one receiver: its contract. `openLane` keeps it.
 *
 * @module
 */
import type { Task } from 'fp-ts/lib/Task.js'
import type { Cancel, Clock } from '../clock/Clock.ts'
import type { Verdict } from '../outcome/Verdict.ts'
import type { Post } from './Connection.ts'
import type { Egress } from './Egress.ts'
import type { Lookup } from './guardedLookup.ts'
import type { StatusTable } from './StatusTable.ts'
import type { TlsOptions } from './Tls.ts'

/** Where a lane leads, and what it obeys. Nothing of it is checked here: see `targetFaults` and its siblings. */
export interface LaneOptions {
  /** Stands in the receipts. */
  readonly name: string
  readonly url: URL
  /** Requests at a time, each on a connection of its own. Default 16. */
  readonly connections?: number
  /** Milliseconds to connect: name look-up, TCP and TLS. Default 5,000. */
  readonly connectWithin?: number
  readonly tls?: TlsOptions
  readonly statuses?: StatusTable
  readonly egress?: Egress
  readonly clock?: Clock
  /** Whether requests keep the process alive, default true. While it is connecting one does in any case. */
  readonly holds?: boolean
  /** Finds the addresses of a name. Default: what the operating system finds. */
  readonly lookup?: Lookup
}

/** A POST, and until when it may start: milliseconds since 1970 (DE4). */
export interface LanePost extends Post {
  readonly until: number
}

/** Who hears of a POST: the verdict at the status line, then the end, when nothing of it is left running. */
export interface LaneReceiver {
  readonly next: (verdict: Verdict) => void
  /** The answer's body, before the end, if `mostBody` asked for it and it came whole within so many bytes. */
  readonly body?: (body: Buffer) => void
  readonly complete: () => void
}

/** The way to one receiver, with connections of its own, so that a receiver that hangs holds back no other (DE8). */
export interface Lane {
  /** Sends. Cancelled, it tells nothing more, and its socket is destroyed in whatever phase it is. */
  readonly post: (post: LanePost, receiver: LaneReceiver) => Cancel
  /** Takes nothing more, lets what runs end within so many milliseconds, then cuts it off. Afterwards no socket is left. */
  readonly close: (within: number) => Task<void>
}
