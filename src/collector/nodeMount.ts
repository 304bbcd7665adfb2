import type { IncomingMessage, ServerResponse } from 'node:http'
import { isLeft } from 'fp-ts/lib/Either.js'
import { later } from './answers.ts'
import type { Answer } from './answers.ts'
import { parse } from './requestBody.ts'
import type { Admission, Body, RequestHandler } from './requestHandler.ts'
import type { Uploads } from './bodyLimits.ts'

/** What frameworks leave on a request: Express its own path, body parsers the parsed body. */
interface MountedRequest extends IncomingMessage {
  readonly originalUrl?: unknown
  readonly body?: unknown
}

const consumed: Answer = later(
  'the body was read before the collector saw it: mount the collector before the body parser',
  500,
)

/** The body that a framework's parser left, or the answer if it left none. */
const parsedBody = ({ body, headers }: MountedRequest, isGzip: boolean): Body | Answer => {
  if (body instanceof Uint8Array) return { _tag: 'Bytes', bytes: body }
  if (typeof body === 'string') {
    const value = parse(body)
    return isLeft(value) ? value.left : { _tag: 'Parsed', value: value.right, size: Buffer.byteLength(body) }
  }
  const length = Number(headers['content-length'])
  const size = length > 0 && !isGzip ? length : Infinity
  return typeof body === 'object' && body !== null ? { _tag: 'Parsed', value: body, size } : consumed
}

/** The collector as a listener for `node:http`. It answers every request. */
export const nodeMount =
  (handler: RequestHandler, uploads: Uploads, onAnswered: (status: number) => void) =>
  (request: MountedRequest, response: ServerResponse): void => {
    const finish = ({ status, headers, body }: Answer): void => {
      onAnswered(status)
      if (response.headersSent || response.destroyed) return
      response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) })
      response.end(body)
    }

    /** Answers before the body is complete. The rest is read and dropped for a while: otherwise the sender would not read the answer. */
    const finishEarly = (answer: Answer): void => {
      request.on('error', () => undefined)
      if (!request.complete) {
        const { end } = uploads.begin(() => request.destroy())
        request.on('close', end).on('end', end).resume()
      }
      finish(answer)
    }

    const read = (admission: Admission): void => {
      const { add, bytes, end } = uploads.begin((answer) => {
        request.off('data', onData)
        finish(answer)
        response.on('finish', () => request.destroy())
      })
      const onData = (chunk: Uint8Array | string): void => {
        // The host may have set an encoding.
        const refusal = add(
          typeof chunk === 'string' ? Buffer.from(chunk, request.readableEncoding ?? 'utf8') : chunk,
        )
        if (refusal === undefined || !end()) return
        request.off('data', onData)
        finishEarly(refusal)
      }
      request.on('data', onData)
      request.on('end', () => {
        if (end()) void handler.answer(admission, { _tag: 'Bytes', bytes: bytes() }).then(finish)
      })
      request.on('close', end)
      request.on('error', end)
    }

    const { method = '', originalUrl, url = '', headers } = request
    const admitted = handler.admit({
      method,
      target: typeof originalUrl === 'string' ? originalUrl : url,
      header: (name) => {
        const value = headers[name]
        return typeof value === 'string' ? value : undefined
      },
    })
    if (isLeft(admitted)) {
      finishEarly(admitted.left)
    } else if (request.readableDidRead || request.readableEnded || request.destroyed) {
      const body = parsedBody(request, admitted.right.isGzip)
      if ('_tag' in body) void handler.answer({ ...admitted.right, isGzip: false }, body).then(finish)
      else finish(body)
    } else {
      read(admitted.right)
    }
  }
