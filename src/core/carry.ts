/**
 * The answer that a source expects for its message. It rides on the `Either`, under a symbol that neither
 * `JSON`, a spread nor `inspect` sees, and never in the item.
 *
 * @module
 */
import { isLeft, left, right, type Either } from './either.ts'
import type { Failure } from './failure.ts'
import { isRecord, type Fields } from './json.ts'
import type { Outcome } from './outcome.ts'

/** Receives how an item ended. */
export interface SourceAnswer {
  /** Called once. `failure`, of the last attempt, may tell the members of a batch apart. */
  readonly end: (ended: unknown, failure?: Failure) => void
  /** The answers of the members of a batch. */
  readonly members?: ReadonlyArray<SourceAnswer | undefined>
}

const ANSWER_KEY = Symbol('answer')

export const answerOn = (each: object): SourceAnswer | undefined =>
  // Any object can be asked for a key that it lacks, and only `withAnswer` sets this one.
  (each as { readonly [ANSWER_KEY]?: SourceAnswer })[ANSWER_KEY]

/** A copy with the answer, because the host may use one `Either` for several items. */
export const withAnswer = <L, A>(to: Either<L, A>, answer: SourceAnswer): Either<L, A> =>
  Object.defineProperty(isLeft(to) ? left(to.left) : right(to.right), ANSWER_KEY, { value: answer })

/** `to`, with the answer of `from` if it has one. For each operator that makes an `Either` of another. */
export const carry = <L, A>(from: object, to: Either<L, A>): Either<L, A> => {
  const answer = answerOn(from)
  return answer === undefined ? to : withAnswer(to, answer)
}

/** A durable outbox has the item. */
export const STORED = { _tag: 'Stored' } as const

/** Each is worse than the one before it. */
const VERBS = ['ack', 'reject', 'nak'] as const
const ACK_TAGS = new Set<unknown>(['Delivered', 'Stored', 'Skipped'])
const NAK_TAGS = new Set<unknown>(['Full', 'Closed', 'Disabled', 'NotStored', 'Abandoned'])

/** Not a left of the host with one of these tags. */
const isOurs = (ended: Fields): boolean => 'item' in ended || 'input' in ended || ended === STORED

/** How an end is answered. All others, and lefts of the host, are rejected. */
export const verbOf = (ended: unknown): (typeof VERBS)[number] => {
  const tag = isRecord(ended) && isOurs(ended) ? ended['_tag'] : undefined
  if (ACK_TAGS.has(tag)) return 'ack'
  return NAK_TAGS.has(tag) ? 'nak' : 'reject'
}
const rankOf = (ended: unknown): number => VERBS.indexOf(verbOf(ended))

/** One for each of `count` parts: the worst of their ends is the end, when the last has ended. */
export const divided = (answer: SourceAnswer, count: number): SourceAnswer => {
  let open = count
  let worst: unknown = STORED
  const end = (ended: unknown): void => {
    if (rankOf(ended) > rankOf(worst)) worst = ended
    if (--open === 0) answer.end(worst)
  }
  return { end }
}

/** One for each of `count` members of one item. */
export const answersOf = (answer: SourceAnswer, count: number): Array<SourceAnswer | undefined> => {
  if (count === 1) return [answer]
  if (answer.members?.length === count) return [...answer.members]
  return new Array<SourceAnswer>(count).fill(divided(answer, count))
}

/** One for a batch: each member ends by its place. */
export const joinedAnswer = (members: ReadonlyArray<SourceAnswer | undefined>): SourceAnswer => ({
  members,
  end: (ended, failure) => {
    const verdicts = failure?._tag === 'PartlyFailed' ? failure.members : []
    members.forEach((member, place) => {
      const own = verdicts.length === members.length ? verdicts[place] : undefined
      if (own?._tag === 'Right') member?.end(STORED)
      else member?.end(ended, own?.left)
    })
  },
})

export const lastFailureOf = (outcome: Outcome<unknown>): Failure | undefined => {
  if (outcome._tag === 'Expired') return outcome.failure.lastFailure
  if (outcome._tag === 'Abandoned') return outcome.lastFailure
  return outcome._tag === 'Rejected' ? outcome.failure : undefined
}
