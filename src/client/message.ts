/**
 * A message: what waits, is stored and is sent. Plain data.
 *
 * @module
 */
import { isRecord } from '../core/json.ts'
import type { BatchPayload, EventPayload } from '../event/payload.ts'
import type { ItemCodec } from '../outbox/lmdb/contract.ts'

/** The six kinds of calls that a client takes. */
export type CallType = 'identify' | 'track' | 'page' | 'screen' | 'group' | 'alias'

/** A message: `id` is its message id, `text` the exact JSON that is sent, and `items` names its kind. Plain data. */
export type Message = EventPayload<CallType>

/** The messages of one request, with their frame: what a sink in place of the endpoint is given. */
export type SentBatch = BatchPayload<CallType>

const only = (type: CallType): readonly [CallType] => Object.freeze([type] as const)

/** The `items` of a message, by kind: one frozen list for all messages of the kind. */
export const itemsOf: Readonly<Record<CallType, readonly [CallType]>> = Object.freeze({
  identify: only('identify'),
  track: only('track'),
  page: only('page'),
  screen: only('screen'),
  group: only('group'),
  alias: only('alias'),
})

const isCallType = (type: string | undefined): type is CallType =>
  type !== undefined && Object.hasOwn(itemsOf, type)

/** Whether something that an outbox handed out is a message. */
export const isMessage = (item: unknown): item is Message =>
  isRecord(item) && typeof item['text'] === 'string' && typeof item['byteLength'] === 'number'

/** The first two keys of every message, as `toTrackingMessage` writes them. */
const HEAD = /^\{"type":"(\w+)","messageId":("(?:[^"\\]|\\.)*")/

/** A message is stored as its text. */
const messageFromText = (text: string): Message => {
  const [, type, quotedId] = HEAD.exec(text) ?? []
  if (!isCallType(type) || quotedId === undefined) throw new Error('The record is not a message')
  // A JSON string: its parse is a string.
  const id = JSON.parse(quotedId) as string
  return { id, items: itemsOf[type], text, byteLength: Buffer.byteLength(text) }
}

/** How messages are stored in a folder. */
export const messageCodec: ItemCodec<Message> = {
  kind: 'messages',
  toText: ({ text }) => text,
  fromText: messageFromText,
  sizeOf: ({ byteLength }) => byteLength,
}
