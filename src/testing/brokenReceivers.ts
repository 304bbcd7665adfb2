import type { IncomingMessage, RequestListener } from 'node:http'
import { systemClock } from '../core/clock.ts'
import { isRecord } from '../core/json.ts'
import type { Fields } from '../core/json.ts'
import type { Signer } from '../event/payload.ts'
import { signerOf } from '../signing/secret.ts'
import type { Secret } from '../signing/secret.ts'

/** A receiver with one fault. */
export interface BrokenReceiver {
  readonly name: string
  /** The id of the vector of `checkReceiver` that finds the fault. */
  readonly vector: string
  /** The receiver, for `createServer` of node:http. Each call makes a new one. */
  readonly listener: (secret: Secret | string) => RequestListener
}

/** One request, and what the receiver knows. */
interface Given {
  readonly body: Buffer
  /** Empty if there is none. */
  readonly signature: string
  readonly sign: Signer
  /** Message ids of earlier requests. */
  readonly seen: Set<unknown>
}

/** The status of the answer. What it throws is answered 500. */
type Judge = (given: Given) => number

const readAll = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = []
  // No encoding was set, so chunks are bytes.
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const readFirst = (request: IncomingMessage): Promise<Buffer> =>
  new Promise((resolve) => request.once('data', resolve))

const broken = (
  name: string,
  vector: string,
  judge: Judge,
  { read = readAll, delayOf = (_body: Buffer): number => 0 } = {},
): BrokenReceiver => ({
  name,
  vector,
  listener: (secret) => {
    const sign = signerOf(secret)
    const seen = new Set<unknown>()
    return (request, response) => {
      const answer = async (): Promise<void> => {
        const body = await read(request)
        const signature = String(request.headers['x-signature'] ?? '')
        const status = judge({ body, signature, sign, seen })
        const cancel = systemClock.schedule(delayOf(body), () => response.writeHead(status).end())
        response.once('close', cancel)
      }
      answer().catch(() => response.writeHead(500).end())
    }
  },
})

/** Verifies what a change makes of the body. */
const verifying =
  (change: (body: Buffer) => string | Buffer = (body) => body): Judge =>
  ({ body, signature, sign }) =>
    sign(change(body)) === signature ? 200 : 401

const right = verifying()

/** The JSON of a body, written anew with other values. */
const rewriting = (change: (value: unknown) => unknown): Judge =>
  verifying((body) => JSON.stringify(JSON.parse(body.toString(), (_key, value: unknown) => change(value))))

const sorted = (value: unknown): unknown =>
  isRecord(value) && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value

/** Answers a status in place of 200 to events that it does not want. */
const refusing =
  (status: number, wants: (event: Fields, given: Given) => boolean): Judge =>
  (given) =>
    // A body that is signed is an event.
    right(given) === 200 && !wants(JSON.parse(given.body.toString()) as Fields, given) ? status : right(given)

const isNew = ({ messageId }: Fields, { seen }: Given): boolean =>
  messageId === undefined || seen.size < seen.add(messageId).size

const SLOW_MS = 60_000

/**
 * Receivers with one fault each: to see that a check of receivers finds it.
 *
 * @example
 * import { createServer } from 'node:http'
 * import { brokenReceivers, checkReceiver } from 'headrace/testing'
 * const broken = brokenReceivers.find(({ name }) => name === 'accepts requests without a signature')
 * const server = createServer(broken?.listener('correct horse'))
 * await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
 * const { port } = server.address() as { port: number }
 * const { results } = await checkReceiver(`http://127.0.0.1:${port}/`, { secret: 'correct horse' })
 * console.log(results.find(({ passed }) => !passed)?.vector.id) // => signature/missing
 * server.close()
 */
export const brokenReceivers: ReadonlyArray<BrokenReceiver> = [
  broken('verifies the parsed body with sorted keys', 'kind/track', rewriting(sorted)),
  broken(
    'trims strings before it verifies',
    'body/padded-strings',
    rewriting((value) => (typeof value === 'string' ? value.trim() : value)),
  ),
  broken(
    'reads the body as Latin-1',
    'body/unicode',
    verifying((body) => body.toString('latin1')),
  ),
  broken(
    'verifies the decoded text',
    'signature/of-decoded-text',
    verifying((body) => body.toString()),
  ),
  broken('verifies the first part of the body', 'upload/slow', right, { read: readFirst }),
  broken('verifies nothing', 'signature/tampered-body', () => 200),
  broken('accepts requests without a signature', 'signature/missing', (given) =>
    given.signature === '' ? 200 : right(given),
  ),
  broken('accepts the name of the algorithm', 'signature/prefixed', (given) =>
    right({ ...given, signature: given.signature.replace('sha1=', '') }),
  ),
  broken('compares the first eight digits', 'signature/flipped-digit', ({ signature, sign, body }) =>
    signature.slice(0, 8) === sign(body).slice(0, 8) ? 200 : 401,
  ),
  broken('answers 500 to a wrong signature', 'signature/wrong-key', (given) =>
    right(given) === 200 ? 200 : 500,
  ),
  broken('throws if the signature has another length', 'signature/truncated', (given) => {
    if (given.signature.length !== 40) throw new RangeError('both must have the same length')
    return right(given)
  }),
  broken(
    'needs a version in a delete',
    'kind/delete',
    refusing(422, ({ version }) => version === 1),
  ),
  broken('refuses an event that it has', 'repeat/same-event', refusing(409, isNew)),
  broken(
    'refuses fields that it does not know',
    'body/unknown-fields',
    refusing(400, ({ later }) => later === undefined),
  ),
  broken(
    'refuses more than 16 KB',
    'body/32-kib',
    refusing(413, (_event, { body }) => body.length <= 16_384),
  ),
  broken('answers late to a group', 'kind/group', right, {
    delayOf: (body) => (body.includes('"type":"group"') ? SLOW_MS : 0),
  }),
]
