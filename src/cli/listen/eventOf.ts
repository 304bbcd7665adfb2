/** What can be said about the event in a body. */
export interface EventGlimpse {
  readonly type?: string
  readonly id?: string
}

const text = (value: unknown): value is string => typeof value === 'string'

/** The type and the message id in a body, if it is an event at all. */
export const eventOf = (body: Uint8Array): EventGlimpse => {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
    if (typeof parsed !== 'object' || parsed === null) return {}
    return {
      ...('type' in parsed && text(parsed.type) ? { type: parsed.type } : {}),
      ...('messageId' in parsed && text(parsed.messageId) ? { id: parsed.messageId } : {}),
    }
  } catch {
    return {}
  }
}
