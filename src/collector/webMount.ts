import { isUint8Array } from 'node:util/types'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { closing, later, tooLong, tooMuch, tooSlow } from './answers.ts'
import type { Answer, Head } from './answers.ts'
import type { Reception } from './requestHandler.ts'
import type { Cut, Upload } from './uploads.ts'

const consumed: Answer = {
  ...later('the body was read before the collector saw it: hand the request on unread'),
  status: 500,
}

const notBytes: Answer = {
  ...later('the body came in pieces that are no bytes: hand the request on as it came'),
  status: 500,
}

const brokenOff: Answer = later('the request broke off before its body was complete')

const ignore = (): void => undefined

const targetOf = (url: string): string => {
  const path = url.indexOf('/', url.indexOf('://') + 3)
  return path < 0 ? '/' : url.slice(path)
}

const headOf = ({ method, url, headers }: Request): Head => ({
  method,
  target: targetOf(url),
  header: (name) => headers.get(name) ?? undefined,
})

/** With headers of its own: some servers write into what they are given. */
const responseOf = ({ status, headers, body }: Answer): Response =>
  new Response(body, { status, headers: { ...headers } })

/** Hosts make streams of anything, whatever the type says. */
type Reader = ReadableStreamDefaultReader<unknown>

/** Pieces with nothing in them are no news: a stream that has only these would never end. */
const MOST_EMPTY = 1_000

/** All pieces of a body as one, or what is answered in its place as soon as that is known. Rejects if the stream breaks off. */
const readAll = async (
  reader: Reader,
  { maxBatch }: Reception,
  upload: Upload,
): Promise<Either<Answer, Uint8Array>> => {
  const chunks: Uint8Array[] = []
  let size = 0
  let empty = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return right(Buffer.concat(chunks, size))
    if (!isUint8Array(value)) return left(notBytes)
    const { byteLength } = value
    if (byteLength === 0 && ++empty > MOST_EMPTY) return left(brokenOff)
    chunks.push(value)
    size += byteLength
    if (size > maxBatch) return left(tooLong(maxBatch))
    if (!upload.hold(byteLength)) return left(tooMuch)
  }
}

/**
 * Lets the rest of a body flow away, so that its sender reads the answer: as much as a body may have. A stream that always has more, or always
 * nothing, would leave no turn to anything else.
 */
const drain = async (reader: Reader, { maxBatch }: Reception): Promise<void> => {
  for (let rest = maxBatch; rest > 0;) {
    const { done, value } = await reader.read()
    if (done) return
    if (!isUint8Array(value) || value.byteLength === 0) break
    rest -= value.byteLength
  }
  await reader.cancel()
}

/** The body of a request within its limits, or what is answered in its place. Never rejects. */
const readBody = (
  stream: ReadableStream<unknown>,
  signal: AbortSignal,
  reception: Reception,
): Promise<Either<Answer, Uint8Array>> =>
  new Promise((resolve) => {
    const reader = stream.getReader()
    const upload = reception.uploads.begin((why: Cut) => {
      giveUp(why === 'late' ? tooSlow : closing)
    })
    const giveUp = (answer: Answer): void => {
      resolve(left(answer))
      reader.cancel().catch(ignore)
    }
    // The reading ends with it, and so does the upload.
    const onAbort = (): void => {
      giveUp(brokenOff)
    }
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
    readAll(reader, reception, upload)
      .then(async (body) => {
        resolve(body)
        if (body._tag === 'Right') return
        upload.letGo()
        await drain(reader, reception)
      })
      .catch(() => {
        resolve(left(brokenOff))
      })
      .finally(() => {
        signal.removeEventListener('abort', onAbort)
        upload.end()
      })
      .catch(ignore)
  })

/** A collector for web-standard servers: Hono, Next, Bun, Deno, workers. */
export const webMount = (reception: Reception): ((request: Request) => Promise<Response>) => {
  const answerTo = async (request: Request): Promise<Answer> => {
    const admitted = reception.admit(headOf(request))
    if (admitted._tag === 'Left') return admitted.left
    if (request.bodyUsed || request.body?.locked === true) return consumed
    const body =
      request.body === null
        ? right(new Uint8Array(0))
        : await readBody(request.body, request.signal, reception)
    return body._tag === 'Left'
      ? body.left
      : reception.take(admitted.right, { _tag: 'Bytes', bytes: body.right })
  }

  return async (request) => {
    let answer: Answer
    try {
      answer = await answerTo(request)
    } catch (error) {
      answer = reception.defect(error)
    }
    reception.answered(answer)
    return responseOf(answer)
  }
}
