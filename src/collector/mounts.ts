/** The collector for servers: `node:http`, and web-standard requests. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Observer } from 'rxjs'
import { constVoid, left, right } from '../core/either.ts'
import type { Cancel } from '../core/clock.ts'
import { consumed } from './answers.ts'
import type { BodyLimits, MemoryShare } from './bodyLimits.ts'
import type { AnswerRequest } from './requestHandler.ts'

/** Reads a web body. An abort of the request ends it: the body may hang. */
const webBody =
  (reader: ReadableStreamDefaultReader<unknown>, signal: AbortSignal) =>
  ({ next, complete, error }: Observer<unknown>): Cancel => {
    const readAll = async (): Promise<void> => {
      signal.throwIfAborted()
      for (let read = await reader.read(); !read.done; read = await reader.read()) next(read.value)
    }
    readAll().then(complete, error)
    signal.addEventListener('abort', error)
    return () => {
      signal.removeEventListener('abort', error)
      reader.cancel().catch(constVoid)
    }
  }

/** Reads a body of `node:http`, whatever its encoding. An iterator was 25 % slower for 384 KB. */
const nodeBody =
  (request: IncomingMessage) =>
  ({ next, complete, error }: Observer<unknown>): Cancel => {
    const onData = (chunk: Uint8Array | string): void =>
      next(typeof chunk === 'string' ? Buffer.from(chunk, request.readableEncoding ?? 'utf8') : chunk)
    request.on('data', onData).on('end', complete).on('close', error).on('error', error)
    return () => void request.off('data', onData)
  }

/** The collector for web-standard servers: Hono, Next, Bun, Deno, workers. */
export const webMount =
  (answer: AnswerRequest, limits: BodyLimits, onAnswered: (status: number) => void) =>
  async (request: Request): Promise<Response> => {
    const { method, url, headers } = request
    const readBody = async (share: MemoryShare) => {
      if (request.bodyUsed || request.body?.locked === true) return left(consumed)
      if (request.body === null) return right(new Uint8Array(0))
      return limits.read(share, webBody(request.body.getReader(), request.signal))
    }
    const answered = await answer(method, url, (name) => headers.get(name) ?? undefined, readBody)
    onAnswered(answered.status)
    // A copy of the headers: some servers write into them.
    return new Response(answered.body, { status: answered.status, headers: { ...answered.headers } })
  }

/** Additions of frameworks to a request: Express its own path, body parsers the parsed body. */
type MountedRequest = IncomingMessage & { readonly originalUrl?: unknown; readonly body?: unknown }

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

    void answer(method, target, header, async (share) => {
      const { body } = request
      // A parser has waited for its end.
      if (request.readableEnded && !request.readableDidRead) return right(new Uint8Array(0))
      if (!request.readableDidRead && !request.destroyed) return limits.read(share, nodeBody(request))
      if (typeof body === 'string' || body instanceof Uint8Array) return right({ decoded: Buffer.from(body) })
      return typeof body === 'object' && body !== null ? right({ parsed: body }) : left(consumed)
    }).then(({ status, headers, body }) => {
      if (!request.complete && !request.destroyed) {
        // The rest is read and dropped for a while: otherwise the sender would not read the answer.
        const end = limits.begin(() => request.destroy())
        request.on('data', constVoid).on('close', end).resume()
      }
      if (response.headersSent || response.destroyed) return
      onAnswered(status)
      response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) })
      response.end(body)
    })
  }
