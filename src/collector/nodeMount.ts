import type { IncomingMessage, ServerResponse } from 'node:http'
import { isLeft } from 'fp-ts/lib/Either.js'
import { closing, later, tooLong, tooManyUploads, tooSlow } from './answers.ts'
import type { Answer } from './answers.ts'
import { parse } from './envelope.ts'
import type { Admission, Body, Head, RequestHandler } from './requestHandler.ts'
import type { Uploads } from './uploads.ts'

/** What frameworks leave on a request: Express its own path, body parsers the parsed body. */
interface MountedRequest extends IncomingMessage {
  readonly originalUrl?: unknown
  readonly body?: unknown
}

const consumed: Answer = later(
  'the body was read before the collector saw it: mount the collector before the body parser',
  500,
)
const closingNow: Answer = { ...closing, headers: { ...closing.headers, Connection: 'close' } }

const ignore = (): void => undefined

const headOf = (request: MountedRequest): Head => ({
  method: request.method ?? '',
  target: typeof request.originalUrl === 'string' ? request.originalUrl : (request.url ?? ''),
  header: (name) => {
    const value = request.headers[name]
    return typeof value === 'string' ? value : undefined
  },
})

const send = (response: ServerResponse, { status, headers, body }: Answer): void => {
  if (response.headersSent || response.destroyed) return
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) })
  response.end(body)
}

/** The body that a framework's parser left, or the answer if it left none. */
const parsedBody = (request: MountedRequest, isGzip: boolean): Body | Answer => {
  const { body } = request
  if (body instanceof Uint8Array) return { _tag: 'Bytes', bytes: body }
  if (typeof body === 'string') {
    const value = parse(body)
    return isLeft(value) ? value.left : { _tag: 'Parsed', value: value.right, size: Buffer.byteLength(body) }
  }
  const length = Number(request.headers['content-length'])
  const size = length > 0 && !isGzip ? length : Infinity
  return typeof body === 'object' && body !== null ? { _tag: 'Parsed', value: body, size } : consumed
}

/** The collector as a listener for `node:http`. It answers every request. */
export const nodeMount =
  (handler: RequestHandler, uploads: Uploads, maxBatch: number, onAnswered: (status: number) => void) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    const finish = (answer: Answer): void => {
      onAnswered(answer.status)
      try {
        send(response, answer)
      } catch (error) {
        handler.defect(error)
        response.destroy()
      }
    }

    /** What a listener throws would end the host's process. */
    const safely = (listen: () => void): void => {
      try {
        listen()
      } catch (error) {
        const answer = handler.defect(error)
        if (!response.headersSent) finish(answer)
      }
    }

    const answerWith = (admission: Admission, body: Body): void => {
      handler.answer(admission, body).then(finish, ignore)
    }

    /** Answers before the body is complete. The rest is read and dropped for a while: otherwise the sender would not read the answer. */
    const finishEarly = (answer: Answer): void => {
      request.on('error', ignore)
      safely(() => {
        if (request.complete) return
        const upload = uploads.begin(() => {
          request.destroy()
        })
        const end = (): void => safely(upload.end)
        request.on('close', end)
        request.on('end', end)
        request.resume()
      })
      if (!response.headersSent) finish(answer)
    }

    const read = (admission: Admission): void => {
      const chunks: Uint8Array[] = []
      let size = 0
      let isOpen = true
      const upload = uploads.begin((why) =>
        safely(() => {
          if (!end()) return
          finish(why === 'late' ? tooSlow : closingNow)
          response.on('finish', () => {
            request.destroy()
          })
        }),
      )
      /** True once. */
      const end = (): boolean => {
        if (!isOpen) return false
        isOpen = false
        upload.end()
        request.off('data', onData)
        return true
      }
      const onData = (chunk: Uint8Array | string): void => {
        safely(() => {
          // The host may have set an encoding, whose name is one of Node's.
          const bytes =
            typeof chunk === 'string' ? Buffer.from(chunk, request.readableEncoding ?? 'utf8') : chunk
          chunks.push(bytes)
          size += bytes.length
          const refusal =
            size > maxBatch ? tooLong(maxBatch) : upload.add(bytes.length) ? undefined : tooManyUploads
          if (refusal !== undefined && end()) finishEarly(refusal)
        })
      }
      const onGone = (): void => safely(end)
      request.on('data', onData)
      request.on('end', () =>
        safely(() => {
          if (!end()) return
          const [first] = chunks
          const bytes = first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks, size)
          answerWith(admission, { _tag: 'Bytes', bytes })
        }),
      )
      request.on('close', onGone)
      request.on('error', onGone)
    }

    try {
      const admitted = handler.admit(headOf(request))
      if (isLeft(admitted)) {
        finishEarly(admitted.left)
      } else if (request.readableDidRead || request.readableEnded || request.destroyed) {
        const body = parsedBody(request, admitted.right.isGzip)
        if ('_tag' in body) answerWith({ ...admitted.right, isGzip: false }, body)
        else finish(body)
      } else {
        read(admitted.right)
      }
    } catch (error) {
      finishEarly(handler.defect(error))
    }
  }
