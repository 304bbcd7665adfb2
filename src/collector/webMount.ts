import { isUint8Array } from 'node:util/types'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { later } from './answers.ts'
import type { Answer } from './answers.ts'
import type { RequestHandler } from './requestHandler.ts'
import type { Upload, Uploads } from './bodyLimits.ts'

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

/** Hosts make streams of anything, whatever the type says. */
type Reader = ReadableStreamDefaultReader<unknown>

/** A complete body, or the answer as soon as it is known. Rejects if the stream breaks off. */
const readAll = async (reader: Reader, { add, bytes }: Upload): Promise<Either<Answer, Uint8Array>> => {
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return right(bytes())
    const refusal = isUint8Array(value) ? add(value) : notBytes
    if (refusal !== undefined) return left(refusal)
  }
}

/** The body of a request within its limits, or the answer. Never rejects. */
const readBody = (
  stream: ReadableStream<unknown>,
  signal: AbortSignal,
  uploads: Uploads,
): Promise<Either<Answer, Uint8Array>> =>
  new Promise((resolve) => {
    const reader = stream.getReader()
    // The read that is pending then ends, and the upload with it.
    const giveUp = (answer: Answer): void => {
      resolve(left(answer))
      reader.cancel().catch(ignore)
    }
    const upload = uploads.begin(giveUp)
    const onAbort = (): void => giveUp(brokenOff)
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
    void readAll(reader, upload)
      .catch(() => left(brokenOff))
      .then((body) => {
        signal.removeEventListener('abort', onAbort)
        upload.end()
        if (isLeft(body)) giveUp(body.left)
        else resolve(body)
      })
  })

/** The collector for web-standard servers: Hono, Next, Bun, Deno, workers. */
export const webMount = (
  handler: RequestHandler,
  uploads: Uploads,
  onAnswered: (status: number) => void,
): ((request: Request) => Promise<Response>) => {
  const answerTo = async (request: Request): Promise<Answer> => {
    const { method, url, headers } = request
    const path = url.indexOf('/', url.indexOf('://') + 3)
    const admitted = handler.admit({
      method,
      target: path < 0 ? '/' : url.slice(path),
      header: (name) => headers.get(name) ?? undefined,
    })
    if (isLeft(admitted)) return admitted.left
    if (request.bodyUsed || request.body?.locked === true) return consumed
    const bytes =
      request.body === null ? right(new Uint8Array(0)) : await readBody(request.body, request.signal, uploads)
    return isLeft(bytes) ? bytes.left : handler.answer(admitted.right, { _tag: 'Bytes', bytes: bytes.right })
  }

  return async (request) => {
    const { status, headers, body } = await answerTo(request).catch(handler.defect)
    onAnswered(status)
    // A copy of the headers: some servers write into them.
    return new Response(body, { status, headers: { ...headers } })
  }
}
