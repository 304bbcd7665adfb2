import { isUint8Array } from 'node:util/types'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { closing, later, tooLong, tooManyUploads, tooSlow } from './answers.ts'
import type { Answer } from './answers.ts'
import type { Head, RequestHandler } from './requestHandler.ts'
import type { Upload, Uploads } from './uploads.ts'

const consumed: Answer = later(
  'the body was read before the collector saw it: hand the request on unread',
  500,
)
const notBytes: Answer = later(
  'the body came in pieces that are no bytes: hand the request on as it came',
  500,
)
const brokenOff: Answer = later('the request broke off before its body was complete')

const ignore = (): void => undefined

const headOf = ({ method, url, headers }: Request): Head => {
  const path = url.indexOf('/', url.indexOf('://') + 3)
  return {
    method,
    target: path < 0 ? '/' : url.slice(path),
    header: (name) => headers.get(name) ?? undefined,
  }
}

/** Hosts make streams of anything, whatever the type says. */
type Reader = ReadableStreamDefaultReader<unknown>

/** Empty chunks before a body counts as broken off. */
const MAX_EMPTY_CHUNKS = 1_000

/** A complete body, or the answer as soon as it is known. Rejects if the stream breaks off. */
const readAll = async (
  reader: Reader,
  maxBatch: number,
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
    if (byteLength === 0 && ++empty > MAX_EMPTY_CHUNKS) return left(brokenOff)
    chunks.push(value)
    size += byteLength
    if (size > maxBatch) return left(tooLong(maxBatch))
    if (!upload.add(byteLength)) return left(tooManyUploads)
  }
}

/** Reads and drops the rest of a body, at most `maxBatch` bytes, so that its sender reads the answer. */
const drain = async (reader: Reader, maxBatch: number): Promise<void> => {
  for (let rest = maxBatch; rest > 0;) {
    const { done, value } = await reader.read()
    if (done) return
    if (!isUint8Array(value) || value.byteLength === 0) break
    rest -= value.byteLength
  }
  await reader.cancel()
}

/** The body of a request within its limits, or the answer. Never rejects. */
const readBody = (
  stream: ReadableStream<unknown>,
  signal: AbortSignal,
  uploads: Uploads,
  maxBatch: number,
): Promise<Either<Answer, Uint8Array>> =>
  new Promise((resolve) => {
    const reader = stream.getReader()
    // The read that is pending then ends, and the upload with it.
    const giveUp = (answer: Answer): void => {
      resolve(left(answer))
      reader.cancel().catch(ignore)
    }
    const upload = uploads.begin((why) => giveUp(why === 'late' ? tooSlow : closing))
    const onAbort = (): void => giveUp(brokenOff)
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
    readAll(reader, maxBatch, upload)
      .then(async (body) => {
        resolve(body)
        if (!isLeft(body)) return
        upload.drop()
        await drain(reader, maxBatch)
      })
      .catch(() => resolve(left(brokenOff)))
      .finally(() => {
        signal.removeEventListener('abort', onAbort)
        upload.end()
      })
      .catch(ignore)
  })

/** The collector for web-standard servers: Hono, Next, Bun, Deno, workers. */
export const webMount = (
  handler: RequestHandler,
  uploads: Uploads,
  maxBatch: number,
  onAnswered: (status: number) => void,
): ((request: Request) => Promise<Response>) => {
  const answerTo = async (request: Request): Promise<Answer> => {
    const admitted = handler.admit(headOf(request))
    if (isLeft(admitted)) return admitted.left
    if (request.bodyUsed || request.body?.locked === true) return consumed
    const bytes =
      request.body === null
        ? right(new Uint8Array(0))
        : await readBody(request.body, request.signal, uploads, maxBatch)
    return isLeft(bytes) ? bytes.left : handler.answer(admitted.right, { _tag: 'Bytes', bytes: bytes.right })
  }

  return async (request) => {
    const { status, headers, body } = await answerTo(request).catch(handler.defect)
    onAnswered(status)
    // A copy of the headers: some servers write into them.
    return new Response(body, { status, headers: { ...headers } })
  }
}
