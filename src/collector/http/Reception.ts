import { isLeft } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { isPromiseLike } from '../../internal/Awaitable.ts'
import type { Awaitable } from '../../internal/Awaitable.ts'
import { show } from '../../outcome/Refusal.ts'
import type { Refusal } from '../../outcome/Refusal.ts'
import type { Deletion } from '../Collector.ts'
import type { Lot, Taken } from '../intake.ts'
import { idOf } from '../Message.ts'
import type { Source } from '../Source.ts'
import { admit, checked } from './Admission.ts'
import type { Admission, Door } from './Admission.ts'
import { envelopeOf, writeKeyOf } from './Envelope.ts'
import {
  allAccepted,
  deletionAccepted,
  later,
  no,
  tooLong,
  tooMuch,
  unknownKey,
  withComplaints,
} from './Exchange.ts'
import type { Answer, Body, Complaint, Head } from './Exchange.ts'
import { unpack } from './Unpacked.ts'
import type { Unpacked } from './Unpacked.ts'
import type { Uploads } from './uploads.ts'

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
  refusal._tag === 'NotKept' ? 'it could not be stored: try again' : show(refusal)

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
