/**
 * The answer to a request, for both mounts. First `admit` looks at the head, then `answer` at the body.
 *
 * @module
 */

import * as E from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { isRecord } from '../core/json.ts'
import { show } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import {
  allAccepted,
  closing,
  deletionAccepted,
  later,
  no,
  tooLong,
  tooManyUploads,
  withErrors,
} from './answers.ts'
import type { Answer, MessageError } from './answers.ts'
import { isBasic } from './authentication.ts'
import type { Authentication } from './authentication.ts'
import type { Deletion } from './collector.ts'
import { decompress, batchOf, parseBytes, writeKeyOf } from './requestBody.ts'
import type { Endpoint } from './requestBody.ts'
import type { Ingested, Ingester, Source } from './ingest.ts'

/** What is known of a request before its body. */
export interface Head {
  readonly method: string
  /** Path and query, or a whole URL. */
  readonly target: string
  /** By lower-case name. */
  readonly header: (name: string) => string | undefined
}

/** A complete body. */
export type Body =
  | { readonly _tag: 'Bytes'; readonly bytes: Uint8Array }
  /** Parsed by a framework, which may hold it. `size` is the bytes of its text; `Infinity`: not known. */
  | { readonly _tag: 'Parsed'; readonly value: unknown; readonly size: number }

/** A request that may send its body. */
export interface Admission {
  readonly endpoint: Endpoint
  /** Undefined if no header names it: then the body must. */
  readonly source: Source | undefined
  readonly isGzip: boolean
}

const PATH = /\/v1\/(batch|import|delete|identify|track|page|screen|group|alias)\/*$/

/** The endpoint of a request target: its path ends in `/v1/` and a name, behind any prefix. */
export const endpointOf = (target: string): Endpoint | undefined => {
  const [path = ''] = target.split(/[?#]/, 1)
  const name = PATH.exec(path)?.[1]
  // The other names of the pattern are endpoints.
  return name === 'import' ? 'batch' : (name as Endpoint | undefined)
}

const unknownPath: Answer = no(
  404,
  'there is nothing here: post to /v1/batch, /v1/import, /v1/delete, or /v1/ and one of identify, track, page, screen, group, alias',
)
const unknownKey: Answer = no(
  401,
  'the write key is missing or unknown: send it as the user name of Basic authentication, or as writeKey in the body',
  { 'WWW-Authenticate': 'Basic realm="headrace", charset="UTF-8"' },
)
const notPost: Answer = no(405, 'only POST is understood here', { Allow: 'POST' })
const isOff: Answer = no(404, 'the source of this write key is switched off')
const notJson: Answer = no(415, 'the body must be JSON: send Content-Type application/json')
const unknownCoding: Answer = no(415, 'the body may be compressed with gzip and with nothing else', {
  'Accept-Encoding': 'gzip',
})
const noDeletions: Answer = no(
  403,
  'deletions may not be asked for with this write key: the source needs deletions: true',
)
const broken: Answer = later('something went wrong here: try again', 500)

/** Types that some SDKs put on bytes which they compressed themselves (`@rudderstack/rudder-sdk-node`, by axios). */
const COMPRESSED_TYPE = /^\s*(application\/x-www-form-urlencoded|application\/octet-stream)\s*$/i

const JSON_OR_TEXT = /^\s*(application\/json|text\/plain|)\s*$/i

/** No type counts as JSON, and so does `text/plain`, which browsers send by default. */
const mayBeJson = (type: string | undefined, isGzip: boolean): boolean => {
  if (type === undefined || type === 'application/json') return true
  const [essence = ''] = type.split(';', 1)
  return JSON_OR_TEXT.test(essence) || (isGzip && COMPRESSED_TYPE.test(essence))
}

const IDENTITY = ['', 'identity']
const GZIP = ['gzip', 'x-gzip']

const ifEnabled = (source: Source | undefined): Either<Answer, Source> => {
  if (source === undefined) return left(unknownKey)
  return source.enabled ? right(source) : left(isOff)
}

const MAX_REASON = 500

/** Bytes of all reasons in one answer. With the indexes of 40,000 messages it stays below 1,000,000. */
const MAX_REASONS = 256_000

/** Senders may be strangers: what a store says may hold paths and names of machines. */
const reasonOf = (refusal: Refusal): string => {
  const reason = refusal._tag === 'NotStored' ? 'it could not be stored: try again' : show(refusal)
  return reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON)}…` : reason
}

const errorOf = (index: number, refusal: Refusal): MessageError => {
  const id = isRecord(refusal.input) ? refusal.input['messageId'] : undefined
  return {
    index,
    ...(typeof id === 'string' && id !== '' ? { messageId: id.slice(0, 256) } : {}),
    reason: reasonOf(refusal),
  }
}

/** Names every refused message, in order; ids and reasons only while there are bytes for them. */
const errorsOf = (refused: Ingested['refused']): ReadonlyArray<MessageError> => {
  let rest = MAX_REASONS
  return refused
    .toSorted((a, b) => a.index - b.index)
    .map(({ index, refusal }) => {
      if (rest <= 0) return { index }
      const error = errorOf(index, refusal)
      rest -= Buffer.byteLength(JSON.stringify(error))
      return rest < 0 ? { index } : error
    })
}

const ingestAnswer = (received: number, isSingle: boolean, { refused, failure }: Ingested): Answer => {
  if (failure !== undefined) return later(reasonOf(failure))
  if (refused.length === 0) return allAccepted(received)
  const isTooLarge = isSingle && refused[0]?.refusal._tag === 'TooLarge'
  return withErrors(received, errorsOf(refused), isTooLarge ? 413 : 400)
}

const deletionAnswer = E.match(
  (refusal: Refusal): Answer =>
    refusal._tag === 'Invalid' || refusal._tag === 'TooLarge'
      ? withErrors(1, [errorOf(0, refusal)], 400)
      : later(reasonOf(refusal)),
  ({ notifications }: Deletion) => deletionAccepted(notifications),
)

/** Answers requests, whatever server they come from. */
export interface RequestHandler {
  /** Whether a request may send its body, or its answer. */
  readonly admit: (head: Head) => Either<Answer, Admission>
  /** The answer to a request with its body. Never rejects. */
  readonly answer: (admission: Admission, body: Body) => Promise<Answer>
  /** The answer after a defect, which is logged. */
  readonly defect: (error: unknown) => Answer
}

/** `maxBatch`: bytes of a body, as it comes and decompressed. `maxUploading`: bytes of all bodies that are being decompressed. */
export const requestHandler = (
  authentication: Authentication<Source>,
  maxBatch: number,
  maxUploading: number,
  isClosing: () => boolean,
  ingest: Ingester['ingest'],
  deleteUser: Ingester['deleteUser'],
  onDefect: (error: unknown) => void,
): RequestHandler => {
  let decompressing = 0

  /** Counts each body as the most it may become: many small ones could hold any amount. One is always let in. */
  const decompressInTurn = async (bytes: Uint8Array): Promise<Either<Answer, Uint8Array>> => {
    if (decompressing > 0 && decompressing + maxBatch > maxUploading) return left(tooManyUploads)
    decompressing += maxBatch
    const whole = await decompress(bytes, maxBatch)
    decompressing -= maxBatch
    return whole
  }

  const defect = (error: unknown): Answer => {
    onDefect(error)
    return broken
  }

  return {
    admit: ({ method, target, header }) => {
      const endpoint = endpointOf(target)
      if (endpoint === undefined) return left(unknownPath)
      if (method !== 'POST') return left(notPost)
      if (isClosing()) return left(closing)
      const authorization = header('authorization')
      const isNamed = authorization !== undefined && isBasic(authorization)
      const source = isNamed ? ifEnabled(authentication.byHeader(authorization)) : right(undefined)
      if (isLeft(source)) return source
      const coding = header('content-encoding')?.trim().toLowerCase() ?? ''
      const isGzip = GZIP.includes(coding)
      if (!mayBeJson(header('content-type'), isGzip)) return left(notJson)
      if (!isGzip && !IDENTITY.includes(coding)) return left(unknownCoding)
      if (Number(header('content-length')) > maxBatch) return left(tooLong(maxBatch))
      return right({ endpoint, source: source.right, isGzip })
    },
    answer: async ({ endpoint, source: named, isGzip }, body) => {
      try {
        let value: unknown
        let size: number
        const owned = body._tag === 'Bytes'
        if (owned) {
          const bytes = isGzip ? await decompressInTurn(body.bytes) : right(body.bytes)
          if (isLeft(bytes)) return bytes.left
          const parsed = parseBytes(bytes.right)
          if (isLeft(parsed)) return parsed.left
          value = parsed.right
          size = bytes.right.byteLength
        } else {
          value = body.value
          size = body.size
          if (size > maxBatch && size < Infinity) return tooLong(maxBatch)
        }
        const source = ifEnabled(named ?? authentication.byKey(writeKeyOf(value)))
        if (isLeft(source)) return source.left
        const batch = batchOf(endpoint, value, owned, size, maxBatch)
        if (isLeft(batch)) return batch.left
        if (endpoint !== 'delete')
          return ingestAnswer(
            batch.right.messages.length,
            endpoint !== 'batch',
            await ingest(source.right, batch.right),
          )
        return source.right.deletions
          ? deletionAnswer(await deleteUser([source.right], batch.right.messages[0]))
          : noDeletions
      } catch (error) {
        return defect(error)
      }
    },
    defect,
  }
}
