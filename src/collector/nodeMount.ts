import type { IncomingMessage, ServerResponse } from 'node:http'
import { whenSettled } from '../core/awaitable.ts'
import { closing, later, tooLong, tooMuch, tooSlow } from './answers.ts'
import type { Answer, Body, Head } from './answers.ts'
import { parsed } from './envelope.ts'
import type { Admission, Reception } from './requestHandler.ts'

/** What frameworks leave on a request: Express its own path, body parsers what they made of the body. */
interface MountedRequest extends IncomingMessage {
  readonly originalUrl?: unknown
  readonly body?: unknown
}

/** Somebody read the stream and left nothing on `request.body`: the mount is wrong, and the sender should keep what it has. */
const consumed: Answer = {
  ...later('the body was read before the collector saw it: mount the collector before the body parser'),
  status: 500,
}

const ignore = (): void => undefined

const targetOf = ({ originalUrl, url = '' }: MountedRequest): string =>
  typeof originalUrl === 'string' ? originalUrl : url

const headOf = (request: MountedRequest): Head => ({
  method: request.method ?? '',
  target: targetOf(request),
  header: (name) => {
    const value = request.headers[name]
    return typeof value === 'string' ? value : undefined
  },
})

/** Whoever set an encoding before us made the bytes text. Its name is one of those that Node knows. */
const bytesOf = (chunk: Uint8Array | string, { readableEncoding }: IncomingMessage): Uint8Array =>
  typeof chunk === 'string' ? Buffer.from(chunk, readableEncoding ?? 'utf8') : chunk

const send = (response: ServerResponse, { status, headers, body }: Answer): void => {
  if (response.headersSent || response.destroyed) return
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) })
  response.end(body)
}

/** The body that a framework's parser has made, if it has read the stream; an answer if it made nothing. */
const parsedBody = (request: MountedRequest, size: number): Body | Answer => {
  const { body } = request
  if (body instanceof Uint8Array) return { _tag: 'Bytes', bytes: body }
  if (typeof body !== 'string') {
    return typeof body === 'object' && body !== null ? { _tag: 'Parsed', value: body, size } : consumed
  }
  const value = parsed(body, Buffer.byteLength(body))
  return value._tag === 'Left' ? value.left : { _tag: 'Parsed', ...value.right }
}

/** A collector for `node:http`, without the detour by web requests: one listener that answers every request. */
export const nodeMount =
  (reception: Reception) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    const finish = (answer: Answer): void => {
      reception.answered(answer)
      try {
        send(response, answer)
      } catch (error) {
        reception.defect(error)
        response.destroy()
      }
    }

    const take = (admission: Admission, body: Body): void => {
      whenSettled(reception.take(admission, body), finish, ignore)
    }

    /** What a listener throws, nobody catches: the host's process would end. */
    const contained = (listen: () => void): void => {
      try {
        listen()
      } catch (error) {
        const answer = reception.defect(error)
        if (!response.headersSent) finish(answer)
      }
    }

    /** Answers before the body is here. What comes of it is let flow away, for its time: else the sender would not read the answer. */
    const finishEarly = (answer: Answer): void => {
      request.on('error', ignore)
      contained(() => {
        if (request.complete) return
        const upload = reception.uploads.begin(() => {
          request.destroy()
        })
        const end = (): void => {
          contained(upload.end)
        }
        request.on('close', end)
        request.on('end', end)
        request.resume()
      })
      if (!response.headersSent) finish(answer)
    }

    const read = (admission: Admission): void => {
      const chunks: Uint8Array[] = []
      let size = 0
      let open = true
      /** Answers true once. */
      const end = (): boolean => {
        if (!open) return false
        open = false
        upload.end()
        request.off('data', more)
        return true
      }
      const upload = reception.uploads.begin((why) => {
        contained(() => {
          if (!end()) return
          finish(
            why === 'late' ? tooSlow : { ...closing, headers: { ...closing.headers, Connection: 'close' } },
          )
          response.on('finish', () => {
            request.destroy()
          })
        })
      })
      const more = (chunk: Uint8Array | string): void => {
        contained(() => {
          const bytes = bytesOf(chunk, request)
          chunks.push(bytes)
          size += bytes.length
          if (size > reception.maxBatch) {
            if (end()) finishEarly(tooLong(reception.maxBatch))
          } else if (!upload.hold(bytes.length)) {
            if (end()) finishEarly(tooMuch)
          }
        })
      }
      const whole = (): void => {
        if (!end()) return
        const [first] = chunks
        take(admission, {
          _tag: 'Bytes',
          bytes: chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, size),
        })
      }
      request.on('data', more)
      request.on('end', () => {
        contained(whole)
      })
      // Whoever goes away in the middle has sent nothing.
      const gone = (): void => {
        contained(end)
      }
      request.on('close', gone)
      request.on('error', gone)
    }

    try {
      const admitted = reception.admit(headOf(request))
      if (admitted._tag === 'Left') {
        finishEarly(admitted.left)
      } else if (request.readableDidRead || request.readableEnded || request.destroyed) {
        const size = Number(request.headers['content-length'] ?? Number.NaN)
        const body = parsedBody(request, size > 0 && !admitted.right.gzip ? size : Infinity)
        if ('_tag' in body) take({ ...admitted.right, gzip: false }, body)
        else finish(body)
      } else {
        read(admitted.right)
      }
    } catch (error) {
      finishEarly(reception.defect(error))
    }
  }
