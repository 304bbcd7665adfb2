import { type Either, left, right } from 'fp-ts/lib/Either.js'
import { bodyConsumed, bodyTooLarge, unreadable, type WebBody, type WebRequest } from './Incoming.ts'
import type { Mismatch } from './Mismatch.ts'

const readAll = async (body: WebBody, maxBytes: number): Promise<Either<Mismatch, Uint8Array>> => {
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  for (;;) {
    const { value } = await reader.read()
    if (value === undefined) return right(Buffer.concat(chunks, size))
    size += value.byteLength
    if (!(size <= maxBytes)) {
      // Nobody waits for the sender to notice; how its side ends is no concern of the verdict.
      reader.cancel().catch(() => undefined)
      return left(bodyTooLarge(maxBytes))
    }
    chunks.push(value)
  }
}

/** The whole body of a web `Request`, at most `maxBytes` of it held. Never rejects. */
export const webBody = async (
  request: WebRequest,
  maxBytes: number,
): Promise<Either<Mismatch, Uint8Array>> => {
  if (request.bodyUsed || request.body?.locked === true) return left(bodyConsumed)
  if (request.body === null) return right(new Uint8Array(0))
  try {
    return await readAll(request.body, maxBytes)
  } catch {
    return left(unreadable)
  }
}
