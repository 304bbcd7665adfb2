/**
 * A message as senders write it, made ready for the codec: what the public convention allows beyond our own call form.
 *
 * @module
 */
import type { Kind } from '../event/Kinds.ts'
import { isRecord } from '../internal/Fields.ts'
import type { Fields } from '../internal/Fields.ts'

/** What is said for a message from outside of it. */
export interface Defaults {
  /** Its kind: the path says it (CO4). */
  readonly type?: Kind
  /** Of the batch; the message's own keys win. */
  readonly context?: Fields | undefined
  readonly integrations?: Fields | undefined
}

/** The message's own keys over the batch's; what is no object is left for the codec to complain of. */
const under = (defaults: Fields, own: unknown): unknown => {
  if (own === undefined || own === null) return defaults
  return isRecord(own) ? { ...defaults, ...own } : own
}

/**
 * A message with all that is said for it: its kind, the batch's context and integrations, and `originalTimestamp` where it has no
 * `timestamp` (EV5). Never changes what it is given; answers the same object when there is nothing to add.
 */
export const completed = (message: unknown, { type, context, integrations }: Defaults): unknown => {
  if (!isRecord(message)) return message
  const { timestamp, originalTimestamp } = message
  const dated = timestamp !== undefined && timestamp !== null
  const borrows = !dated && originalTimestamp !== undefined && originalTimestamp !== null
  if (type === undefined && context === undefined && integrations === undefined && !borrows) return message
  return {
    ...message,
    ...(type === undefined ? undefined : { type }),
    ...(context === undefined ? undefined : { context: under(context, message['context']) }),
    ...(integrations === undefined
      ? undefined
      : { integrations: under(integrations, message['integrations']) }),
    ...(borrows ? { timestamp: originalTimestamp } : undefined),
  }
}

/** Without members that are null, as senders in other languages write what they do not know; undefined if there are none. */
export const withoutNulls = (message: unknown): unknown => {
  if (!isRecord(message)) return undefined
  const entries = Object.entries(message)
  const known = entries.filter(([, value]) => value !== null)
  return known.length < entries.length ? Object.fromEntries(known) : undefined
}

/** The id that a message brings, if it is one that could be right: to name it by when it is refused. */
export const idOf = (message: unknown): string | undefined => {
  const id = isRecord(message) ? message['messageId'] : undefined
  return typeof id === 'string' && id !== '' ? id.slice(0, LONGEST_ID) : undefined
}

const LONGEST_ID = 256
