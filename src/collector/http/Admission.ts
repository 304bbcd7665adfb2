import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Source } from '../Source.ts'
import { isBasic } from './Authentication.ts'
import type { Authentication } from './Authentication.ts'
import { closing, no, tooLong, unknownKey } from './Exchange.ts'
import type { Answer, Head } from './Exchange.ts'
import { wayOf } from './Way.ts'
import type { Way } from './Way.ts'

/** What is known of a request that may send its body. */
export interface Admission {
  readonly way: Way
  /** Undefined if no header says it: then the body must. */
  readonly source: Source | undefined
  readonly gzip: boolean
}

/** By what requests are let in. */
export interface Door {
  readonly authentication: Authentication<Source>
  /** Bytes of a body as it comes. */
  readonly maxBatch: number
  readonly isClosing: () => boolean
}

const unknownPath: Answer = no(
  404,
  'there is nothing here: post to /v1/batch, /v1/import, /v1/delete, or /v1/ and one of identify, track, page, screen, group, alias',
)

const notPost: Answer = no(405, 'only POST is understood here', { Allow: 'POST' })

const isOff: Answer = no(404, 'the source of this write key is switched off')

const notJson: Answer = no(415, 'the body must be JSON: send Content-Type application/json')

const unknownCoding: Answer = no(415, 'the body may be compressed with gzip and with nothing else', {
  'Accept-Encoding': 'gzip',
})

/** What nobody calls JSON, but for clients that put this on bytes they have compressed themselves (`@rudderstack/rudder-sdk-node`, by axios). */
const UNTOLD = /^\s*(application\/x-www-form-urlencoded|application\/octet-stream)\s*$/i

const JSON_OR_TEXT = /^\s*(application\/json|text\/plain|)\s*$/i

/** Whether a body that calls itself so may be JSON. Who says nothing is believed; `text/plain` is what browsers send unasked. */
const mayBeJson = (type: string | undefined, isGzip: boolean): boolean => {
  if (type === undefined || type === 'application/json') return true
  const [essence = ''] = type.split(';', 1)
  return JSON_OR_TEXT.test(essence) || (isGzip && UNTOLD.test(essence))
}

const codingOf = (header: string | undefined): 'identity' | 'gzip' | undefined => {
  const coding = header?.trim().toLowerCase() ?? ''
  if (coding === '' || coding === 'identity') return 'identity'
  return coding === 'gzip' || coding === 'x-gzip' ? 'gzip' : undefined
}

/** Who sends, as far as its headers say; an answer if nobody we know, or one that is off. */
const sourceOf = (authorization: string | undefined, door: Door): Either<Answer, Source | undefined> => {
  if (authorization === undefined || !isBasic(authorization)) return right(undefined)
  const source = door.authentication.byHeader(authorization)
  return source === undefined ? left(unknownKey) : checked(source)
}

/** A source that takes events. */
export const checked = (source: Source): Either<Answer, Source> =>
  source.enabled ? right(source) : left(isOff)

/** Whether a request may send its body, or what it is answered at once (CO4). */
export const admit = (head: Head, door: Door): Either<Answer, Admission> => {
  const way = wayOf(head.target)
  if (way === undefined) return left(unknownPath)
  if (head.method !== 'POST') return left(notPost)
  if (door.isClosing()) return left(closing)
  const source = sourceOf(head.header('authorization'), door)
  if (source._tag === 'Left') return source
  const coding = codingOf(head.header('content-encoding'))
  if (!mayBeJson(head.header('content-type'), coding === 'gzip')) return left(notJson)
  if (coding === undefined) return left(unknownCoding)
  if (Number(head.header('content-length')) > door.maxBatch) return left(tooLong(door.maxBatch))
  return right({ way, source: source.right, gzip: coding === 'gzip' })
}
