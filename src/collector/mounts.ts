/**
 * The collector for servers: `node:http`, and what speaks web-standard requests.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { left, right } from 'fp-ts/lib/Either.js'
import { consumed } from './answers.ts'
import type { BodyLimits } from './bodyLimits.ts'
import type { AnswerRequest } from './requestHandler.ts'

/** The collector for web-standard servers: Hono, Next, Bun, Deno, workers. */
export const webMount =
  (answer: AnswerRequest, limits: BodyLimits, onAnswered: (status: number) => void) =>
  async (request: Request): Promise<Response> => {
    const { method, url, headers } = request
    const answered = await answer(
      method,
      url,
      (name) => headers.get(name) ?? undefined,
      async () => {
        if (request.bodyUsed || request.body?.locked === true) return left(consumed)
        if (request.body === null) return right(new Uint8Array(0))
        const reader = request.body.getReader()
        return limits.read(
          () => reader.read(),
          () => reader.cancel(),
        )
      },
    )
    onAnswered(answered.status)
    // A copy of the headers: some servers write into them.
    return new Response(answered.body, { status: answered.status, headers: { ...answered.headers } })
  }

/** What frameworks leave on a request: Express its own path, body parsers the parsed body. */
interface MountedRequest extends IncomingMessage {
  readonly originalUrl?: unknown
  readonly body?: unknown
}

/** The collector as a listener for `node:http`. It answers every request. */
export const nodeMount =
  (answer: AnswerRequest, limits: BodyLimits, onAnswered: (status: number) => void) =>
  (request: MountedRequest, response: ServerResponse): void => {
    const { method = '', originalUrl, url = '', headers } = request
    const header = (name: string): string | undefined => {
      const value = headers[name]
      return typeof value === 'string' ? value : undefined
    }
    const target = typeof originalUrl === 'string' ? originalUrl : url

    void answer(method, target, header, async () => {
      const { body } = request
      if (!request.readableDidRead && !request.destroyed) {
        const chunks = request.iterator({ destroyOnReturn: false })
        return limits.read(
          () => chunks.next(),
          () => chunks.return?.(),
        )
      }
      if (typeof body === 'string' || body instanceof Uint8Array) return right({ decoded: Buffer.from(body) })
      return typeof body === 'object' && body !== null ? right({ parsed: body }) : left(consumed)
    }).then(({ status, headers, body }) => {
      if (!request.complete && !request.destroyed) {
        // The rest is read and dropped for a while: otherwise the sender would not read the answer.
        const end = limits.begin(() => request.destroy())
        request
          .on('data', () => undefined)
          .on('close', end)
          .resume()
      }
      onAnswered(status)
      if (response.headersSent || response.destroyed) return
      response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) })
      response.end(body)
    })
  }
