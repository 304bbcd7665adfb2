import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { closing, later, tooLong, tooMuch, tooSlow } from './Exchange.ts'
import type { Answer, Head } from './Exchange.ts'
import type { Reception } from './Reception.ts'
import type { Cut, Upload } from './uploads.ts'

const consumed: Answer = {
  ...later('the body was read before the collector saw it: hand the request on unread'),
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

type Reader = ReadableStreamDefaultReader<Uint8Array>

/** What is done with each piece: an answer ends the reading. */
const readAll = async (
  reader: Reader,
  { maxBatch }: Reception,
  upload: Upload,
): Promise<Either<Answer, Uint8Array>> => {
  const chunks: Uint8Array[] = []
  let size = 0
  for (;;) {
    const { value } = await reader.read()
    if (value === undefined) return right(Buffer.concat(chunks, size))
    chunks.push(value)
    size += value.byteLength
    if (size > maxBatch) return left(tooLong(maxBatch))
    if (!upload.hold(value.byteLength)) return left(tooMuch)
  }
}

/** Lets the rest of a body flow away, so that its sender reads the answer. */
const drain = async (reader: Reader): Promise<void> => {
  while ((await reader.read()).value !== undefined);
}

/** The body of a request within its limits, or what is answered in its place. Never rejects. */
const readBody = (
  stream: ReadableStream<Uint8Array>,
  reception: Reception,
): Promise<Either<Answer, Uint8Array>> =>
  new Promise((resolve) => {
    const reader = stream.getReader()
    const upload = reception.uploads.begin((why: Cut) => {
      resolve(left(why === 'late' ? tooSlow : closing))
      reader.cancel().catch(ignore)
    })
    readAll(reader, reception, upload)
      .then(async (body) => {
        resolve(body)
        if (body._tag === 'Right') return
        upload.letGo()
        await drain(reader)
      })
      .catch(() => {
        resolve(left(brokenOff))
      })
      .finally(upload.end)
      .catch(ignore)
  })

/** A collector for web-standard servers: Hono, Next, Bun, Deno, workers. */
export const webMount = (reception: Reception): ((request: Request) => Promise<Response>) => {
  const answerTo = async (request: Request): Promise<Answer> => {
    const admitted = reception.admit(headOf(request))
    if (admitted._tag === 'Left') return admitted.left
    if (request.bodyUsed || request.body?.locked === true) return consumed
    const body = request.body === null ? right(new Uint8Array(0)) : await readBody(request.body, reception)
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
