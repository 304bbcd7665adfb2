import { type Either, left, right } from 'fp-ts/lib/Either.js'
import { bodyConsumed, bodyTooLarge, type NodeRequest, unreadable } from './Incoming.ts'
import { mismatch, type Mismatch } from './Mismatch.ts'

const decoded = mismatch(
  'badBody',
  'the request was told to decode its body to text (setEncoding), and wrong bytes do not survive that: leave it out',
)

/**
 * The whole body of a Node request, at most `maxBytes` of it held. Never rejects. What is too much is let flow away unread, so
 * that the receiver can still answer 413 on the connection; how long a sender may take is the server's `requestTimeout`.
 */
export const nodeBody = (request: NodeRequest, maxBytes: number): Promise<Either<Mismatch, Uint8Array>> => {
  if (request.readableDidRead) return Promise.resolve(left(bodyConsumed))
  if (request.destroyed) return Promise.resolve(left(unreadable))
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = []
    let size = 0
    const settle = (result: Either<Mismatch, Uint8Array>): void => {
      for (const [event, listener] of listeners) request.removeListener(event, listener)
      request.on('error', ignore)
      request.resume()
      resolve(result)
    }
    const take = (chunk: unknown): void => {
      if (!(chunk instanceof Uint8Array)) {
        settle(left(decoded))
        return
      }
      size += chunk.byteLength
      if (size <= maxBytes) chunks.push(chunk)
      else settle(left(bodyTooLarge(maxBytes)))
    }
    const end = (): void => {
      settle(right(Buffer.concat(chunks, size)))
    }
    const fail = (): void => {
      settle(left(unreadable))
    }
    const listeners = [
      ['data', take],
      ['end', end],
      ['error', fail],
      ['close', fail],
    ] as const
    for (const [event, listener] of listeners) request.on(event, listener)
  })
}

/** A request that breaks off after its verdict must not bring the process down for want of a listener. */
const ignore = (): void => undefined
