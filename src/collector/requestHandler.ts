import { left, right, isLeft } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { isPromiseLike } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import { show } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Kind } from '../event/kinds.ts'
import {
  closing,
  no,
  tooLong,
  unknownKey,
  allAccepted,
  deletionAccepted,
  later,
  tooMuch,
  withComplaints,
} from './answers.ts'
import type { Answer, Head, Body, Complaint } from './answers.ts'
import { isBasic } from './authentication.ts'
import type { Authentication } from './authentication.ts'
import type { Source, Deletion } from './collector.ts'
import { envelopeOf, writeKeyOf, unpack } from './envelope.ts'
import type { Unpacked } from './envelope.ts'
import { idOf } from './ingest.ts'
import type { Lot, Taken } from './ingest.ts'
import type { Uploads } from './uploads.ts'

/** What a path stands for (CO4). */
export type Way =
  | { readonly _tag: 'Batch' }
  /** One message, whose kind the path says. */
  | { readonly _tag: 'Single'; readonly type: Exclude<Kind, 'delete'> }
  | { readonly _tag: 'Delete' }

const SINGLES = ['identify', 'track', 'page', 'screen', 'group', 'alias'] as const

const ways: ReadonlyMap<string, Way> = new Map<string, Way>([
  ['batch', { _tag: 'Batch' }],
  ['import', { _tag: 'Batch' }],
  ['delete', { _tag: 'Delete' }],
  ...SINGLES.map((type): [string, Way] => [type, { _tag: 'Single', type }]),
])

/** As it comes most often, so that most requests are spared the search. */
const whole: ReadonlyMap<string, Way> = new Map([...ways].map(([name, way]) => [`/v1/${name}`, way]))

const PATH = /\/v1\/([a-z]+)\/*$/

/**
 * What a target leads to: a path that ends in `/v1/` and a name, with or without slashes at its end, whatever prefix it is mounted behind.
 * A query says nothing.
 */
export const wayOf = (target: string): Way | undefined => {
  const known = whole.get(target)
  if (known !== undefined) return known
  const [path = ''] = target.split(/[?#]/, 1)
  const [, name = ''] = PATH.exec(path) ?? []
  return ways.get(name)
}

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

/** What both mounts ask, in the order in which a request comes. */
export interface Reception {
  /** Whether a request may send its body, or what it is answered at once. */
  readonly admit: (head: Head) => Either<Answer, Admission>
  readonly maxBatch: number
  readonly uploads: Uploads
  /** The answer to a request whose body is here. Never rejects. */
  readonly take: (admission: Admission, body: Body) => Awaitable<Answer>
  /** Something of ours threw: the request may come again. */
  readonly defect: (error: unknown) => Answer
  /** Is told what was answered. */
  readonly answered: (answer: Answer) => void
}

/** What a reception works with. */
export interface ReceptionOptions extends Door {
  /** Bytes that all bodies together may become while they are decompressed. */
  readonly maxUploading: number
  readonly uploads: Uploads
  readonly take: (lot: Lot) => Awaitable<Taken>
  readonly forget: (source: Source, call: unknown) => Awaitable<Either<Refusal, Deletion>>
  readonly onDefect: (error: unknown) => void
  readonly onAnswer: (status: number) => void
}

/** Long enough for every fault that a person would read. */
const LONGEST_REASON = 500

/** What stores say is for the host, who is told it: it may hold paths and names of machines, and who posts may be anybody. */
const forAnybody = (refusal: Refusal): string =>
  refusal._tag === 'NotStored' ? 'it could not be stored: try again' : show(refusal)

const reasonOf = (refusal: Refusal): string => {
  const reason = forAnybody(refusal)
  return reason.length > LONGEST_REASON ? `${reason.slice(0, LONGEST_REASON)}…` : reason
}

const noDeletions: Answer = no(
  403,
  'deletions may not be asked for with this write key: the source needs deletions: true',
)

const broken: Answer = { ...later('something went wrong here: try again'), status: 500 }

/** Bytes of reasons in one answer. With the places of all, of which there are 40,000 at most, it stays below 1,000,000. */
const MOST_REASONS = 256_000

const complaintOf = (index: number, refusal: Refusal): Complaint => {
  const id = idOf(refusal.input)
  return { index, ...(id === undefined ? {} : { messageId: id }), reason: reasonOf(refusal) }
}

/** Names every message that was refused, in their order; why and which only as long as there are bytes for it. */
const complaintsOf = (refused: Taken['refused']): ReadonlyArray<Complaint> => {
  let rest = MOST_REASONS
  return refused
    .toSorted((a, b) => a.index - b.index)
    .map(({ index, refusal }) => {
      if (rest <= 0) return { index }
      const complaint = complaintOf(index, refusal)
      rest -= Buffer.byteLength(JSON.stringify(complaint))
      return rest < 0 ? { index } : complaint
    })
}

/** The answer to messages of which some may have been refused (CO4). */
const answerTo = (received: number, single: boolean, { refused, trouble }: Taken): Answer => {
  if (trouble !== undefined) return later(reasonOf(trouble))
  if (refused.length === 0) return allAccepted(received)
  const tooLarge = single && refused[0]?.refusal._tag === 'TooLarge'
  return withComplaints(received, complaintsOf(refused), tooLarge ? 413 : 400)
}

const answerToDeletion = (result: Either<Refusal, Deletion>): Answer => {
  if (!isLeft(result)) return deletionAccepted(result.right.notifications)
  const { _tag } = result.left
  return _tag === 'Invalid' || _tag === 'TooLarge'
    ? withComplaints(1, [complaintOf(0, result.left)], 400)
    : later(reasonOf(result.left))
}

const after = <A, B>(value: Awaitable<A>, use: (value: A) => Awaitable<B>): Awaitable<B> =>
  isPromiseLike(value) ? value.then(use) : use(value)

/** The reception of a collector: what is answered to whom (CO4). */
export const reception = (options: ReceptionOptions): Reception => {
  const { authentication, maxBatch, maxUploading } = options

  const sourceOf = ({ source }: Admission, value: unknown): Either<Answer, Source> => {
    if (source !== undefined) return checked(source)
    const key = writeKeyOf(value)
    const found = key === undefined ? undefined : authentication.byKey(key)
    return found === undefined ? { _tag: 'Left', left: unknownKey } : checked(found)
  }

  const takeValue = (admission: Admission, { value, size }: Unpacked, owned: boolean): Awaitable<Answer> => {
    const { way } = admission
    const source = sourceOf(admission, value)
    if (isLeft(source)) return source.left
    const envelope = envelopeOf(way, value, maxBatch)
    if (isLeft(envelope)) return envelope.left
    const { messages, defaults } = envelope.right
    if (way._tag === 'Delete') {
      if (!source.right.deletions) return noDeletions
      return after(options.forget(source.right, messages[0]), answerToDeletion)
    }
    return after(options.take({ source: source.right, messages, defaults, owned, size }), (taken) =>
      answerTo(messages.length, way._tag === 'Single', taken),
    )
  }

  let unpacking = 0

  /** Each counts as what it may become: else many small bodies could hold any amount. One is always let in. */
  const unpackInTurn = (bytes: Uint8Array, gzip: boolean): Awaitable<Either<Answer, Unpacked>> => {
    if (!gzip) return unpack(bytes, gzip, maxBatch)
    if (unpacking > 0 && unpacking + maxBatch > maxUploading) return { _tag: 'Left', left: tooMuch }
    unpacking += maxBatch
    return after(unpack(bytes, gzip, maxBatch), (unpacked) => {
      unpacking -= maxBatch
      return unpacked
    })
  }

  const takeBody = (admission: Admission, body: Body): Awaitable<Answer> => {
    if (body._tag === 'Parsed') {
      if (body.size > maxBatch && body.size < Infinity) return tooLong(maxBatch)
      return takeValue(admission, body, false)
    }
    return after(unpackInTurn(body.bytes, admission.gzip), (unpacked) =>
      isLeft(unpacked) ? unpacked.left : takeValue(admission, unpacked.right, true),
    )
  }

  const defect = (error: unknown): Answer => {
    options.onDefect(error)
    return broken
  }

  return {
    admit: (head) => admit(head, options),
    maxBatch,
    uploads: options.uploads,
    take: (admission, body) => {
      try {
        const answer = takeBody(admission, body)
        return isPromiseLike(answer) ? answer.then(undefined, defect) : answer
      } catch (error) {
        return defect(error)
      }
    },
    defect,
    answered: ({ status }) => {
      options.onAnswer(status)
    },
  }
}
