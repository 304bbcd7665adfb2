/**
 * What a client keeps of a call: its JSON text, and no data beside it (BY1, EV8).
 *
 * @module
 */
import type { BatchPayload, EventPayload } from '../event/Payload.ts'

/** The six kinds of calls that a client takes. */
export type CallType = 'identify' | 'track' | 'page' | 'screen' | 'group' | 'alias'

/** A message: `id` is its message id, `text` the exact JSON that goes out, and `items` names its kind. */
export type Message = EventPayload<CallType>

/** Messages that go out in one request. */
export type MessageBatch = BatchPayload<CallType>

const only = (type: CallType): readonly [CallType] => Object.freeze([type] as const)

/** What a message carries, by kind: one frozen list that all messages of the kind share. */
export const itemsOf: Readonly<Record<CallType, readonly [CallType]>> = Object.freeze({
  identify: only('identify'),
  track: only('track'),
  page: only('page'),
  screen: only('screen'),
  group: only('group'),
  alias: only('alias'),
})

/** The bytes of messages, as the bounds count them. */
export const bytesIn = (messages: ReadonlyArray<Message>): number =>
  messages.reduce((sum, { byteLength }) => sum + byteLength, 0)
