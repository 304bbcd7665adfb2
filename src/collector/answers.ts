/** An HTTP answer. The body is JSON. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const reply = (status: number, body: object, more: Answer['headers'] = {}): Answer => {
  return { status, headers: { 'Content-Type': 'application/json', ...more }, body: JSON.stringify(body) }
}

/** Refuses the whole request. The reason never contains the input. */
export const reject = (status: number, reason: string, headers: Answer['headers'] = {}): Answer =>
  reply(status, { ok: false, reason }, headers)

const RETRY = { 'Retry-After': '10' }

/** Not now: the sender may try again in 10 s. */
export const busy = (reason: string, status = 503): Answer => reject(status, reason, RETRY)

export const allAccepted = (count: number) => reply(200, { ok: true, receivedEvents: count, okEvents: count })

export type MessageErrors = ReadonlyArray<Readonly<{ index: number; messageId?: string; reason?: string }>>
/** Some messages were refused: 200. All were refused: `status`. */
export const withErrors = (received: number, errors: MessageErrors, status: number): Answer => {
  const okEvents = received - errors.length
  return reply(okEvents > 0 ? 200 : status, { ok: false, receivedEvents: received, okEvents, errors })
}

export const deletionAccepted = (notifications: number): Answer => reply(200, { ok: true, notifications })

/** `limit` is the bytes that a body may have. */
export const tooLong = (limit: number): Answer =>
  reject(413, `the body has more than ${String(limit)} bytes: send fewer messages at a time`)

export const closing: Answer = reject(503, 'the collector is closing', { ...RETRY, Connection: 'close' })
export const tooSlow: Answer = reject(408, 'the body took too long to come', { Connection: 'close' })
export const tooManyUploads: Answer = busy('too many requests at once')
export const brokenOff: Answer = busy('the request broke off before its body was complete')
export const notBytes: Answer = busy('the body came in pieces that are no bytes: hand it on as it came', 500)
export const consumed: Answer = busy('the body was read: mount the collector before the body parser', 500)
