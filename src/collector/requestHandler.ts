/** The answer to a request, for both mounts. */
import { isLeft, left, right, type Either } from '../core/either.ts'
import { isRecord, type Fields } from '../core/json.ts'
import { show, type Refusal } from '../core/refusal.ts'
import { allAccepted, closing, deletionAccepted, busy, reject } from './answers.ts'
import { tooLong, tooManyUploads, withErrors, type Answer, type MessageErrors } from './answers.ts'
import type { authentication } from './authentication.ts'
import { memoryShares, type MemoryShare } from './bodyLimits.ts'
import type { Deletion } from './collector.ts'
import { readBatch, decompress, parseBody, writeKeyOf, type Endpoint } from './requestBody.ts'
import type { Ingested, Ingester, Source } from './ingest.ts'

/** A complete body: bytes as they came, bytes that a framework decompressed, or its parsed value. */
export type CompleteBody = Uint8Array | { readonly decoded: Uint8Array } | { readonly parsed: unknown }

/** Answers a request of any server. Never rejects. The body is read only if the head is right. */
export type AnswerRequest = (
  method: string,
  /** Path and query, or a whole URL. */
  target: string,
  /** By lower-case name. */
  header: (name: string) => string | undefined,
  readBody: (share: MemoryShare) => Promise<Either<Answer, CompleteBody>>,
) => Promise<Answer>

const PATH =
  /^[^?#]*\/v1\/(batch|import|delete|identify|track|page|screen|group|alias|[abgipst])\/*(?:[?#]|$)/

/** A library for browsers posts to `/v1/` and the first character of these. */
const ABBREVIATED = ['alias', 'batch', 'group', 'identify', 'page', 'screen', 'track'] as const

/** The endpoint of a request target: its path ends in `/v1/` and a name, behind any prefix. */
export const endpointOf = (target: string): Endpoint | undefined => {
  const name = PATH.exec(target)?.[1]
  if (name?.length === 1) return ABBREVIATED.find((each) => each.startsWith(name))
  // The other names of the pattern are endpoints.
  return name === 'import' ? 'batch' : (name as Endpoint | undefined)
}

const unknownPath: Answer = reject(
  404,
  'there is nothing here: post to /v1/batch, /v1/import, /v1/delete, or /v1/ and one of ' +
    'identify, track, page, screen, group, alias',
)
const unknownKey: Answer = reject(
  401,
  'the write key is missing or unknown: send it as the user name of Basic authentication, or as ' +
    'writeKey in the body',
  { 'WWW-Authenticate': 'Basic realm="headrace", charset="UTF-8"' },
)
const isOff: Answer = reject(404, 'the source of this write key is switched off')
const notJson: Answer = reject(415, 'the body must be JSON: send Content-Type application/json')
const unknownCoding: Answer = reject(415, 'the body may be compressed with gzip and with nothing else', {
  'Accept-Encoding': 'gzip',
})
const noDeletions: Answer = reject(403, 'no deletions with this write key: the source needs deletions: true')

/** Types that some SDKs put on bytes which they compressed themselves (`@rudderstack/rudder-sdk-node`). */
const COMPRESSED_TYPE = /^(application\/x-www-form-urlencoded|application\/octet-stream)$/i

const JSON_OR_TEXT = /^(application\/json|text\/plain|)$/i

/** No type counts as JSON, and so does `text/plain`, which browsers send by default. */
const mayBeJson = (type: string | undefined, isGzip: boolean): boolean => {
  if (type === undefined || type === 'application/json') return true
  const essence = (type.split(';', 1)[0] ?? '').trim()
  return JSON_OR_TEXT.test(essence) || (isGzip && COMPRESSED_TYPE.test(essence))
}

const IDENTITY = ['', 'identity']
const GZIP = ['gzip', 'x-gzip']
const MAX_REASON = 500

/** Bytes of all reasons in one answer. With the indexes of 40,000 messages it stays below 1,000,000. */
const MAX_REASONS = 256_000

/** Senders have no `ready()`, and may be strangers: a store's words may hold paths and names of machines. */
const refusalReason = (refusal: Refusal): string => {
  const { _tag: tag } = refusal
  const again = { NotStored: 'it could not be stored: try again', Full: 'there is no room: try again later' }
  const reason = tag === 'NotStored' || tag === 'Full' ? again[tag] : show(refusal)
  return reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON)}…` : reason
}

const messageError = (index: number, refusal: Refusal) => {
  const { messageId: id }: Fields = isRecord(refusal.input) ? refusal.input : {}
  const named = typeof id === 'string' && id !== '' && { messageId: id.slice(0, 256) }
  return { index, ...named, reason: refusalReason(refusal) }
}

/** Names every refused message, in order; ids and reasons only while there are bytes for them. */
const errorsOf = (refused: Ingested['refused']): MessageErrors => {
  let rest = MAX_REASONS
  return refused
    .toSorted((a, b) => a.index - b.index)
    .map(({ index, refusal }) => {
      if (rest <= 0) return { index }
      const error = messageError(index, refusal)
      rest -= Buffer.byteLength(JSON.stringify(error))
      return rest < 0 ? { index } : error
    })
}

const ingestAnswer = (received: number, isSingle: boolean, { refused, failure }: Ingested): Answer => {
  if (failure !== undefined) return busy(refusalReason(failure))
  if (refused.length === 0) return allAccepted(received)
  const isTooLarge = isSingle && refused[0]?.refusal._tag === 'TooLarge'
  return withErrors(received, errorsOf(refused), isTooLarge ? 413 : 400)
}

const deletionAnswer = (result: Either<Refusal, Deletion>): Answer => {
  if (!isLeft(result)) return deletionAccepted(result.right.notifications)
  const refusal = result.left
  const isWrong = refusal._tag === 'Invalid' || refusal._tag === 'TooLarge'
  return isWrong ? withErrors(1, [messageError(0, refusal)], 400) : busy(refusalReason(refusal))
}

/** `maxBatchBytes`: of a body, also decompressed. `maxUploadBytes`: of all requests that have no answer. */
export const requestHandler = (
  owners: () => ReturnType<typeof authentication<Source>>,
  maxBatchBytes: number,
  maxUploadBytes: number,
  isClosing: () => boolean,
  { begin, ingest, deleteUser }: Ingester,
  onDefect: (error: unknown) => void,
): AnswerRequest => {
  const newShare = memoryShares(maxUploadBytes)

  type AnswerFor = (share: MemoryShare, ...request: Parameters<AnswerRequest>) => Promise<Answer>
  const answer: AnswerFor = async (share, method, target, header, readBody) => {
    const endpoint = endpointOf(target)
    if (endpoint === undefined) return unknownPath
    if (method !== 'POST') return reject(405, 'only POST is understood here', { Allow: 'POST' })
    if (isClosing()) return closing
    const authorization = header('authorization') ?? ''
    // With another scheme (Bearer) the body must name the write key.
    const isNamed = /^basic\b/i.test(authorization)
    const named = isNamed ? owners().byHeader(authorization) : undefined
    if (isNamed && named?.enabled !== true) return named === undefined ? unknownKey : isOff
    const coding = header('content-encoding')?.trim().toLowerCase() ?? ''
    const isGzip = GZIP.includes(coding)
    if (!mayBeJson(header('content-type'), isGzip)) return notJson
    if (!isGzip && !IDENTITY.includes(coding)) return unknownCoding
    const length = Number(header('content-length') ?? NaN)
    if (length > maxBatchBytes) return tooLong(maxBatchBytes)

    const read = await readBody(share)
    if (isLeft(read)) return read.left
    const turn = begin()
    if (turn !== undefined) await turn
    const body = read.right
    const isParsed = 'parsed' in body
    let value: Either<Answer, unknown>
    let size = isGzip ? NaN : length
    if (isParsed) value = right(body.parsed)
    else {
      const raw = 'decoded' in body ? body.decoded : body
      const isPacked = isGzip && !('decoded' in body)
      // It counts as the most that it may become: many small ones could hold any amount.
      if (isPacked && !share.take(maxBatchBytes)) return tooManyUploads
      const bytes = isPacked ? await decompress(raw, maxBatchBytes) : right(raw)
      if (isLeft(bytes)) return bytes.left
      size = bytes.right.byteLength
      if (isPacked) share.take(size - maxBatchBytes)
      value = size > maxBatchBytes ? left(tooLong(maxBatchBytes)) : parseBody(bytes.right)
    }
    if (isLeft(value)) return value.left
    const source = named ?? owners().byKey(writeKeyOf(value.right))
    if (source?.enabled !== true) return source === undefined ? unknownKey : isOff
    const batch = readBatch(endpoint, value.right, !isParsed, size, maxBatchBytes)
    if (isLeft(batch)) return batch.left
    const { messages } = batch.right
    // A value takes 4 times the bytes of its text, one of empty objects 20 times; a message 600 beside it.
    if (!share.take(4 * Math.max(0, size || 0) + 1_024 * messages.length)) return tooManyUploads
    const headers = { get: (name: string) => header(name.toLowerCase()) }
    if (endpoint === 'delete')
      return source.deletions ? deletionAnswer(await deleteUser([source], messages[0], headers)) : noDeletions
    const ingested = await ingest(source, { headers, ...batch.right })
    return ingestAnswer(messages.length, endpoint !== 'batch', ingested)
  }

  return (...request) => {
    const share = newShare()
    const failed = (error: unknown): Answer => {
      onDefect(error)
      return busy('something went wrong here: try again', 500)
    }
    const answered = answer(share, ...request).catch(failed)
    return answered.finally(share.end)
  }
}
