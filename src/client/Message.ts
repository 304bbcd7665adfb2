/**
 * What a client keeps of a call: its JSON text, and no data beside it (BY1, EV8).
 *
 * @module
 */
import type { BatchPayload, EventPayload } from '../event/payload.ts'
import { isRecord } from '../core/json.ts'

/** The six kinds of calls that a client takes. */
export type CallType = 'identify' | 'track' | 'page' | 'screen' | 'group' | 'alias'

/** A message: `id` is its message id, `text` the exact JSON that goes out, and `items` names its kind. */
export type Message = EventPayload<CallType>

/** Messages in one request, with their envelope: what a sink in place of the endpoint is given. */
export type SentBatch = BatchPayload<CallType>

/**
 * Messages that go out in one request, while they wait for it. Plain data: an outbox may keep it as JSON, and what it reads is the same. The
 * envelope comes when it is sent.
 */
export type MessageBatch = Pick<SentBatch, 'id' | 'items' | 'members' | 'byteLength' | 'closedBy'>

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

const isMessage = (value: unknown): value is Message =>
  isRecord(value) &&
  typeof value['id'] === 'string' &&
  typeof value['text'] === 'string' &&
  typeof value['byteLength'] === 'number'

/** Whether an outbox, which may be the host's, handed out what can be sent. */
export const isMessageBatch = (value: unknown): value is MessageBatch =>
  isRecord(value) &&
  typeof value['id'] === 'string' &&
  Array.isArray(value['members']) &&
  value['members'].length > 0 &&
  value['members'].every(isMessage)
