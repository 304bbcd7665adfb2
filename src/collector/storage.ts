import { isLeft } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { isPromiseLike, messageOf } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import { full, notStored } from '../core/refusal.ts'
import type { Closed, Full, NotStored } from '../core/refusal.ts'
import type { Event } from '../event/event.ts'
import type { EventPayload } from '../event/payload.ts'
import type { CollectorOptions, Place } from './collector.ts'

/** Why the share of a destination is not in its keeping: then the sender must come again. */
export type StorageFailure = Full | Closed | NotStored

/** A payload, and the destinations that want it. */
export interface Share {
  readonly payload: EventPayload<Event>
  readonly places: ReadonlyArray<Place>
}

/** Brings payloads to their destinations. */
export interface Storage {
  /** Says that some destination has no room for all of its shares, if that is to be said beforehand. */
  readonly lacksRoom: (shares: ReadonlyArray<Share>) => Full | undefined
  /** Hands a payload to each of its destinations. Never throws, and never rejects. */
  readonly store: (share: Share) => Awaitable<StorageFailure | undefined>
}

const firstOf = <A>(answers: ReadonlyArray<A>): A | undefined =>
  answers.find((answer) => answer !== undefined)

/** The storage of a collector (CO1). */
export const storage = (whenFull: NonNullable<CollectorOptions['whenFull']>): Storage => {
  const failed =
    (payload: EventPayload<Event>) =>
    (error: unknown): NotStored =>
      notStored(payload, messageOf(error))

  const bury = (place: Place, payload: EventPayload<Event>): Awaitable<StorageFailure | undefined> => {
    const gone = (answer: Either<Closed, void>): StorageFailure | undefined =>
      isLeft(answer) ? answer.left : undefined
    const answer = place.work.bury(payload)
    return isPromiseLike(answer) ? answer.then(gone) : gone(answer)
  }

  const judged = (
    place: Place,
    payload: EventPayload<Event>,
    answer: Either<Full | Closed, unknown>,
  ): Awaitable<StorageFailure | undefined> => {
    if (!isLeft(answer)) return undefined
    return answer.left._tag === 'Full' && whenFull === 'deadLetter' ? bury(place, payload) : answer.left
  }

  const offer = (place: Place, payload: EventPayload<Event>): Awaitable<StorageFailure | undefined> => {
    try {
      const answer = place.work.offer(payload)
      if (!isPromiseLike(answer)) {
        const result = judged(place, payload, answer)
        return isPromiseLike(result) ? result.then(undefined, failed(payload)) : result
      }
      return answer.then((kept) => judged(place, payload, kept)).then(undefined, failed(payload))
    } catch (error) {
      return failed(payload)(error)
    }
  }

  return {
    lacksRoom: (shares) => {
      if (whenFull !== 'refuse') return undefined
      for (const place of new Set(shares.flatMap(({ places }) => places))) {
        const { waiting, bytes, maxCount, maxBytes } = place.work.waiting()
        const mine = shares.filter(({ places }) => places.includes(place))
        if (waiting + mine.length > maxCount) return full(undefined, 'count', maxCount)
        const more = mine.reduce((sum, { payload }) => sum + payload.byteLength, 0)
        if (bytes + more > maxBytes) return full(undefined, 'bytes', maxBytes)
      }
      return undefined
    },
    store: ({ places, payload }) => {
      const [first] = places
      if (first === undefined || places.length === 1) return first && offer(first, payload)
      const answers = places.map((place) => offer(place, payload))
      return answers.some(isPromiseLike)
        ? Promise.all(answers.map(async (answer) => answer)).then(firstOf)
        : firstOf(answers)
    },
  }
}
