/** A message: the encoded form of a call, which waits, is stored and is sent. Plain data. @module */
import { isLeft, left, right, type Either } from '../core/either.ts'
import type { Clock } from '../core/clock.ts'
import { isRecord, type Fields } from '../core/json.ts'
import { UnfitAnswer, invalid, tooLarge, type Refusal } from '../core/refusal.ts'
import { version } from '../core/package.ts'
import { eventReader, type Event } from '../event/event.ts'
import { toFaults, type JsonObject } from '../event/json.ts'
import type { Integrations } from '../event/model.ts'
import { trackingText } from '../event/trackingMessage.ts'
import { isMeta, metaBytes, metaOf, type BatchPayload, type EventPayload } from '../event/payload.ts'
import type { ItemCodec } from '../outbox/outbox.ts'

/** The six kinds of calls that a client takes. @inline */
export type CallType = 'identify' | 'track' | 'page' | 'screen' | 'group' | 'alias'

/** A message: `id` is its message id, `text` the exact JSON of the request, and `items` names its kind. */
export type Message = EventPayload<CallType>

/** The messages of one request, with their frame: the input of a sink in place of the endpoint. */
export type SentBatch = BatchPayload<CallType>

/** The `items` of a message, by kind: one list for all messages of the kind. */
const itemsOfKind: { readonly [K in CallType]: readonly [K] } = {
  identify: ['identify'],
  track: ['track'],
  page: ['page'],
  screen: ['screen'],
  group: ['group'],
  alias: ['alias'],
}

const isCallType = (type?: string): type is CallType => type !== undefined && Object.hasOwn(itemsOfKind, type)

export const isMessage = (item: unknown): item is Message =>
  isRecord(item) &&
  typeof item['text'] === 'string' &&
  typeof item['byteLength'] === 'number' &&
  Array.isArray(item['items'])

/** The first two keys of every message, as `trackingText` writes them. */
const MESSAGE_HEAD = /^\{"type":"(\w+)","messageId":("(?:[^"\\]|\\.)*")/

/** A message is stored as its text, behind a line with its `meta` if it has one. */
const META_HEAD = '{"meta":'

const messageFromText = (record: string): Message => {
  const end = record.startsWith(META_HEAD) ? record.indexOf('\n') : -1
  const { meta }: Fields = end < 0 ? {} : (JSON.parse(record.slice(0, end)) as Fields)
  const text = record.slice(end + 1)
  const [, type, quotedId] = MESSAGE_HEAD.exec(text) ?? []
  if (!isCallType(type) || quotedId === undefined) throw new Error('The record is not a message')
  // A JSON string: its parse is a string.
  const id = JSON.parse(quotedId) as string
  const message = { id, items: itemsOfKind[type], text, byteLength: Buffer.byteLength(text) }
  return isMeta(meta) ? { ...message, meta } : message
}

/** Stores the messages of a client, in an outbox of your own. */
export const storedMessages: ItemCodec<Message> = {
  kind: 'messages',
  toText: ({ text, meta }) => (meta === undefined ? text : `${JSON.stringify({ meta })}\n${text}`),
  fromText: messageFromText,
  sizeOf: (message) => message.byteLength + metaBytes(message),
}

const messageText = trackingText({ name: 'headrace-node', version })

const NO_DELETE = 'must be one of page, screen, identify, track, alias, group: a client cannot delete users'

interface EncoderSettings {
  readonly clock: Clock
  readonly context?: JsonObject | undefined
  readonly integrations?: Integrations | undefined
  readonly maxMessageBytes: number
  readonly newId?: (() => string) | undefined
  readonly meta?: ((event: Event) => unknown) | undefined
}

/**
 * Makes the message of a call; `kind` is that of the called method. Never throws. A call is checked where it
 * is and written at once: the text is the copy.
 *
 * @param onUnknownKeys receives the keys that a call lost, if `isHeard` says so
 */
export const encoder = (
  { clock, context, integrations, maxMessageBytes, newId, meta: askMeta }: EncoderSettings,
  onUnknownKeys: (keys: ReadonlyArray<string>) => void,
  isHeard: () => boolean,
  metaFailed: (error: unknown) => void,
) => {
  const reading = { clock, onUnknownKeys, owned: true, pageNeedsUserId: true, ...(newId && { newId }) }
  const read = eventReader(reading, isHeard)

  return (call: unknown, kind: CallType | undefined): Either<Refusal, Message> => {
    try {
      const decoded = read(call, kind)
      if (isLeft(decoded)) return left(invalid(call, toFaults(decoded.left)))
      let event = decoded.right
      if (event.type === 'delete') return left(invalid(call, [{ path: 'type', message: NO_DELETE }]))
      if (context !== undefined) event = { ...event, context: { ...context, ...event.context } }
      if (integrations !== undefined)
        event = { ...event, integrations: { ...integrations, ...event.integrations } }
      const text = messageText(event)
      const byteLength = Buffer.byteLength(text)
      const { messageId: id, type } = event
      if (byteLength > maxMessageBytes) return left(tooLarge(call, maxMessageBytes, byteLength, id))
      const message = { id, items: itemsOfKind[type], text, byteLength }
      const meta = askMeta && metaOf(() => askMeta(event), metaFailed)
      return right(meta === undefined ? message : { meta, ...message })
    } catch (error) {
      const why = error instanceof UnfitAnswer ? error.message : 'newId or a getter of the call throws'
      return left(invalid(call, [{ path: '', message: `could not be encoded: ${why}` }]))
    }
  }
}
