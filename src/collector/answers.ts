/**
 * A request and its answer, by whatever server they come and go: what the two mounts share.
 *
 * @module
 */

/** What is known of a request before its body. */
export interface Head {
  readonly method: string
  /** Path and query, or a whole URL. */
  readonly target: string
  /** By lower-case name. */
  readonly header: (name: string) => string | undefined
}

/** What is answered. The body is JSON. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A body that is here whole. */
export type Body =
  | { readonly _tag: 'Bytes'; readonly bytes: Uint8Array }
  /** A framework has parsed it, and may hold it. `size` is what it had as text, `Infinity` if that is not known. */
  | { readonly _tag: 'Parsed'; readonly value: unknown; readonly size: number }

/** One message that was refused, as the answer names it (CO4). */
export interface Complaint {
  readonly index: number
  readonly messageId?: string
  /** Left out, as the id is, when there is too much to say. */
  readonly reason?: string
}

const JSON_TYPE = { 'Content-Type': 'application/json' }

/** Seconds that a sender is asked to wait when there is no room, or the collector is on its way out. */
const RETRY_AFTER = '10'

const answer = (status: number, body: object, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  headers: { ...JSON_TYPE, ...headers },
  body: JSON.stringify(body),
})

/** No, for the whole request. The reason never says what was sent. */
export const no = (status: number, reason: string, headers: Readonly<Record<string, string>> = {}): Answer =>
  answer(status, { ok: false, reason }, headers)

/** Not now: the sender may try again. */
export const later = (reason: string): Answer => no(503, reason, { 'Retry-After': RETRY_AFTER })

/** Every message was accepted. */
export const allAccepted = (count: number): Answer => ({
  status: 200,
  headers: JSON_TYPE,
  body: `{"ok":true,"receivedEvents":${String(count)},"okEvents":${String(count)}}`,
})

/** Some messages were refused, or all: 200 if any was accepted, else `status` (CO4). */
export const withComplaints = (
  received: number,
  errors: ReadonlyArray<Complaint>,
  status: 400 | 413,
): Answer =>
  answer(errors.length < received ? 200 : status, {
    ok: false,
    receivedEvents: received,
    okEvents: received - errors.length,
    errors,
  })

/** A deletion was accepted. */
export const deletionAccepted = (notifications: number): Answer => answer(200, { ok: true, notifications })

/** Nobody we know. */
export const unknownKey: Answer = no(
  401,
  'the write key is missing or unknown: send it as the user name of Basic authentication, or as writeKey in the body',
  { 'WWW-Authenticate': 'Basic realm="headrace", charset="UTF-8"' },
)

/** It has more than a body may have. */
export const tooLong = (limit: number): Answer =>
  no(413, `the body has more than ${String(limit)} bytes: send fewer messages at a time`)

/** It comes too late. */
export const closing: Answer = later('the collector is closing')

/** It did not come whole in its time. */
export const tooSlow: Answer = no(408, 'the body took too long to come', { Connection: 'close' })

/** There is no room for its body just now. */
export const tooMuch: Answer = later('too many bodies are coming at once')
