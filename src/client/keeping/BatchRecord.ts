/**
 * Messages as a store keeps them: a line of JSON with what is not in their texts, and then each text on a line of its own, unchanged.
 *
 * @module
 */
import { frameBytes } from '../../event/payload.ts'
import { trackingFrame } from '../../event/trackingMessage.ts'
import type { ClosedBy } from '../../event/payload.ts'
import { bytesIn, itemsOf } from '../Message.ts'
import type { CallType, Message, MessageBatch } from '../Message.ts'

/** What stands before the texts. */
interface Header {
  /** Of a batch: its id and why it closed. */
  readonly batch?: readonly [id: string, closedBy: ClosedBy]
  /** Of messages whose batch is open: the lane that it belongs to. */
  readonly lane?: number
  /** The id and the kind of each message. */
  readonly of: ReadonlyArray<readonly [id: string, type: CallType]>
}

/** Messages whose batch is open. */
export interface OpenMessages {
  readonly lane: number
  readonly messages: ReadonlyArray<Message>
}

const ofMessages = (messages: ReadonlyArray<Message>): Header['of'] =>
  messages.map(({ id, items: [type] }) => [id, type] as const)

// JSON has no line break of its own, so the lines are told apart by theirs.
const recordOf = (header: Header, messages: ReadonlyArray<Message>): string =>
  [JSON.stringify(header), ...messages.map(({ text }) => text)].join('\n')

/** The record of a closed batch. */
export const batchToText = ({ id, closedBy, members }: MessageBatch): string =>
  recordOf({ batch: [id, closedBy], of: ofMessages(members) }, members)

/** The record of messages whose batch is open. */
export const openToText = ({ lane, messages }: OpenMessages): string =>
  recordOf({ lane, of: ofMessages(messages) }, messages)

const DAMAGED = 'it is no record of messages'

const isCallType = (type: unknown): type is CallType =>
  typeof type === 'string' && Object.hasOwn(itemsOf, type)

const isNamed = (of: unknown): of is Header['of'] =>
  Array.isArray(of) &&
  of.every((each: unknown) => Array.isArray(each) && typeof each[0] === 'string' && isCallType(each[1]))

const headerIn = (line: string | undefined): Header => {
  const header: unknown = JSON.parse(line ?? '')
  if (typeof header !== 'object' || header === null || !('of' in header) || !isNamed(header.of))
    throw new Error(DAMAGED)
  // The checksum of the record says that this is what was written.
  return header as Header
}

const messagesIn = ({ of }: Header, texts: ReadonlyArray<string>): ReadonlyArray<Message> => {
  if (of.length === 0 || of.length !== texts.length) throw new Error(DAMAGED)
  return of.map(([id, type], at) => {
    const text = texts[at] ?? ''
    return { id, items: itemsOf[type], text, byteLength: Buffer.byteLength(text) }
  })
}

/** Messages as one closed batch. */
export const batchOf = (id: string, closedBy: ClosedBy, members: ReadonlyArray<Message>): MessageBatch => ({
  id,
  items: members.map(({ items: [type] }) => type),
  members,
  byteLength: frameBytes(trackingFrame) + bytesIn(members) + members.length - 1,
  closedBy,
})

/** The batch in a record. Throws if it is none. */
export const batchFromText = (record: string): MessageBatch => {
  const [first, ...texts] = record.split('\n')
  const header = headerIn(first)
  if (header.batch === undefined) throw new Error(DAMAGED)
  const [id, closedBy] = header.batch
  return batchOf(id, closedBy, messagesIn(header, texts))
}

/** The messages in a record whose batch was open. Throws if it is none. */
export const openFromText = (record: string): OpenMessages => {
  const [first, ...texts] = record.split('\n')
  const header = headerIn(first)
  if (header.lane === undefined) throw new Error(DAMAGED)
  return { lane: header.lane, messages: messagesIn(header, texts) }
}
