import type { Clock, Random } from '../core/clock.ts'
import type { Data } from '../event/call.ts'
import type { Integrations } from '../event/kinds.ts'
import type { Tracked } from '../event/trackingMessage.ts'
import type { Listener } from '../log/logEvent.ts'
import type { Logger } from '../log/logger.ts'
import type { RetryPolicy } from '../policy/retryPolicy.ts'
import type { StoredIn } from '../outbox/lmdb/contract.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { Sink } from '../sink/sink.ts'
import type { Egress } from '../http/egress.ts'
import type { TlsOptions } from '../http/tls.ts'
import type { MessageBatch, SentBatch } from './Message.ts'

/** What happens to a call when the queue is full (CL2). */
export type Overflow = 'error' | 'dropNewest' | 'dropOldest'

/** What may be set beside the write key. Numbers are whole and from 1 unless said otherwise. */
export interface ClientOptions {
  /** Messages in a batch; 1 sends each at once. Default 20 (BA2). */
  readonly size?: number
  /** Another name for `size`; given both, the smaller one counts (BA2). */
  readonly flushAt?: number
  /**
   * Milliseconds from the last flush, at first from the creation, after which what is there is sent; a message after a longer pause leaves
   * at once. Default 5,000; `Infinity` for never (BA3).
   */
  readonly flushAfter?: number
  /** Where to post, http or https; without a path, `/v1/batch` is meant. Default `http://127.0.0.1:7410/v1/batch` (CO5). */
  readonly endpoint?: string | URL
  /** Bytes of JSON of one message; default 32,000 (BY2). */
  readonly maxMessage?: number
  /** Bytes of a batch's body, envelope and commas included; default 500,000 (BY2). */
  readonly maxBatch?: number
  /** Messages that were accepted and have not ended; default 10,000 (CL2). */
  readonly maxCount?: number
  /** The same in bytes of JSON; default 33,554,432 (CL2). */
  readonly maxBytes?: number
  /**
   * What happens to a call when the queue is full. `error`, the default: it answers `Full`. `dropNewest`: it is accepted and dropped.
   * `dropOldest`: the oldest batch that is not in a request is dropped, as a whole; if there is none, the batch that is being
   * filled; if everything is in requests, the new message. Each dropped message has its outcome, `Dropped`. With an `outbox` nothing
   * can be dropped from it, so it is a fault then. While somebody is told of such an outcome, a call that finds no room is answered `Full` under every policy: who
   * sends a dropped message again wherever he hears of it would else do so for ever. Send it again after `ready()`.
   *
   * A queue that is smaller than a batch sends what it has when it is full.
   */
  readonly overflow?: Overflow
  /** Requests at a time. Default 1, which keeps the order of the calls: a batch that waits for its retry holds back all later ones. */
  readonly concurrency?: number
  /**
   * Keeps the order within a key when `concurrency` is more than 1: each key belongs to one of so many lanes, and a lane sends one batch at
   * a time. A message without a key takes any lane, and so does one for which it throws. It is shown the event before it is
   * written. Without it, no order is promised beyond `concurrency` 1.
   */
  readonly key?: (event: Tracked) => string | undefined
  /** When to try again; default `standard`: exponential from 1 s, at most 10 min, full jitter, until 4 h (CL4, DE5). */
  readonly retry?: RetryPolicy
  /** Milliseconds for one request in total, headers and body; default 10,000 (CL4). */
  readonly timeout?: number
  /** For calls that name no such destination themselves: the call's own entry wins, name by name. */
  readonly integrations?: Integrations
  /** For the context of every call: the call's own entry wins, key by key. */
  readonly context?: Data
  /** Default true. If false, calls are checked as ever and then answered `Disabled`; nothing is queued or sent. */
  readonly enabled?: boolean
  /**
   * Where messages wait; default memory. `{ path }` is a folder on a disk, by default for 2,000,000 messages and 8 GiB of their JSON: calls still
   * answer at once, each message is on the disk some milliseconds later (`kept()` says when), and a crash loses none that is. `maxCount`
   * and `maxBytes` above then bound what is in memory, which is little unless the disk is slow or fails. An outbox of your own gets
   * batches when they are closed, as plain data that may be kept as JSON; if it fails to take one it is asked again every second. What it held
   * before is counted when it is first sent.
   */
  readonly outbox?: Outbox<MessageBatch> | StoredIn
  /** Where batches go in place of the endpoint. What it refuses is divided, and it has its `timeout`, as with HTTP. It is not closed. */
  readonly sink?: Sink<SentBatch>
  /** What may be dialled; default all but link-local and metadata addresses (DE13). */
  readonly egress?: Egress
  /** Authorities to trust, and our own certificate. */
  readonly tls?: TlsOptions
  /** Static headers of every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Default: warnings and errors go to the console. `false` for silence. */
  readonly logger?: Logger | false
  /** Is told everything that happens: of messages, and of attempts at batches. */
  readonly onEvent?: Listener
  /**
   * Is given a promise when the first message after idleness was accepted; it resolves when everything accepted has ended. For platforms
   * that freeze a process which has nothing to wait for.
   */
  readonly waitUntil?: (ended: Promise<unknown>) => void
  /**
   * At the natural end of the program, when nothing else is left to do, sends what waits and lets the process go when all has ended, or
   * nothing more can happen in time. Default true: at most 10,000 ms; a number says how many; false for not at all (CL7).
   */
  readonly drainOnExit?: boolean | number
  /** Default: the machine's, with timers that do not hold the process. If it throws, the machine's time is taken. */
  readonly clock?: Clock
  /** If it throws, or answers no number in [0, 1), the machine's chance is taken. */
  readonly random?: Random
  /** Makes the id of a call that brings none; default a random UUID, which is also taken if it throws or answers no usable id. */
  readonly newId?: () => string
}
