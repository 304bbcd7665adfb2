/**
 * Why a stored outbox cannot be opened.
 *
 * @module
 */

/** What is wrong, in one word that is stable. */
export type OutboxReason =
  /** The package lmdb, or its build for this machine, is not installed. */
  | 'missing'
  /** Another process, or this one, has it open. */
  | 'inUse'
  /** The folder cannot be made, read or written. */
  | 'noAccess'
  /** There is something in the folder that headrace did not write. */
  | 'notAnOutbox'
  /** Something else is kept in it: the messages of a client, for example, and not the events of a destination. */
  | 'otherKind'
  /** What lies in it belongs to another owner. */
  | 'otherOwner'
  /** A newer headrace wrote it. */
  | 'newerVersion'
  /** Part of it is gone or cannot be read. */
  | 'damaged'
  /** The disk is full. */
  | 'noSpace'

/** Why an outbox could not be opened. Nothing in the folder was changed. */
export interface OutboxFault {
  readonly _tag: 'OutboxFault'
  readonly reason: OutboxReason
  /** The folder. */
  readonly path: string
  /** What is wrong and what to do about it, for people. */
  readonly message: string
}

export const outboxFault = (reason: OutboxReason, path: string, message: string): OutboxFault => ({
  _tag: 'OutboxFault',
  reason,
  path,
  message,
})

/** Thrown by `lmdbOutbox`. `code` and `reason` are stable. An error class, because that is how Node's callers tell failures apart. */
export class OutboxError extends Error {
  override readonly name = 'OutboxError'
  readonly code = 'HEADRACE_OUTBOX'
  readonly reason: OutboxReason
  /** The folder. */
  readonly path: string

  constructor({ reason, path, message }: OutboxFault) {
    super(message)
    this.reason = reason
    this.path = path
  }
}
