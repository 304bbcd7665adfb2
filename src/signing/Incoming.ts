/**
 * The two kinds of incoming request that `verifyRequest` reads, by their shape: neither Node's http nor the DOM is imported.
 *
 * @module
 */
import { mismatch, type Mismatch } from './Mismatch.ts'

/** What is used of a web `Request`: Hono, Next, Remix, Bun, Deno, workers. */
export interface WebRequest {
  readonly headers: { readonly get: (name: string) => string | null }
  readonly bodyUsed: boolean
  readonly body: WebBody | null
}

/** What is used of a web `ReadableStream`. */
export interface WebBody {
  readonly locked: boolean
  readonly getReader: () => {
    readonly read: () => Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
    readonly cancel: () => Promise<void>
  }
}

/** What is used of Node's `IncomingMessage`: node:http, Express, Koa's `ctx.req`, Fastify's `request.raw`. */
export interface NodeRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Somebody has read from it. */
  readonly readableDidRead: boolean
  readonly destroyed: boolean
  on(event: string, listener: (value: unknown) => void): unknown
  removeListener(event: string, listener: (value: unknown) => void): unknown
  resume(): unknown
}

export const bodyConsumed: Mismatch = mismatch(
  'bodyConsumed',
  "the request's body was read before, most often by a body parser, and its bytes are gone: call verifyRequest before the parser, or let the parser keep the bytes (express.raw, or the verify option of express.json) and use verifyRaw, or use verifyParsed on what it made",
)

export const bodyTooLarge = (maxBytes: number): Mismatch =>
  mismatch('tooLarge', `the body is longer than ${String(maxBytes)} bytes: answer 413, or raise maxBytes`)

export const unreadable: Mismatch = mismatch(
  'unreadable',
  'the request broke off before its body was complete',
)
