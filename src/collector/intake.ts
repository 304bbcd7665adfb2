import { isLeft } from 'fp-ts/lib/Either.js'
import { isPromiseLike } from '../internal/Awaitable.ts'
import type { Awaitable } from '../internal/Awaitable.ts'
import { closed } from '../outcome/Refusal.ts'
import type { Refusal } from '../outcome/Refusal.ts'
import type { EncodeMessage, Parcel } from './encoding.ts'
import { route } from './route.ts'
import type { Source } from './Source.ts'
import type { NotStored, Share, Storage } from './storage.ts'
import type { Tally } from './tally.ts'

/** Messages of a source that came together. */
export interface Lot extends Parcel {
  readonly source: Source
  readonly messages: ReadonlyArray<unknown>
}

/** A message that was refused, by its place among those that came with it. */
export interface Refused {
  readonly index: number
  readonly refusal: Refusal
}

/** What became of a lot. */
export interface Taken {
  readonly refused: ReadonlyArray<Refused>
  /** Set if something could not be kept, though nothing is wrong with it: whoever sent the lot must send it again. */
  readonly trouble: NotStored | undefined
  /** The id of the last message that was accepted. */
  readonly id: string | undefined
}

/** What an intake works with. */
export interface IntakeOptions {
  readonly encode: EncodeMessage
  readonly storage: Storage
  readonly tally: Tally
  readonly isClosing: () => boolean
  /** Is told each refusal. */
  readonly onRefused: (refusal: Refusal) => void
}

/**
 * Takes lots in: encodes each message once (BY3), routes it (CO1) and brings it to its destinations. Answers when all that it accepted is in
 * their keeping, at once if their outboxes do. One bad message takes nothing from the others. Never throws.
 */
export const intake =
  ({ encode, storage, tally, isClosing, onRefused }: IntakeOptions) =>
  (lot: Lot): Awaitable<Taken> => {
    const { source, messages } = lot
    const refused: Refused[] = []
    const good: Share[] = []
    const indexes: number[] = []
    let unrouted = 0
    let trouble: NotStored | undefined

    const refuse = (index: number, refusal: Refusal): void => {
      refused.push({ index, refusal })
      tally.refused(source, refusal)
      onRefused(refusal)
    }

    /** Nothing of it is kept. */
    const refuseAll = (why: NotStored): Taken => {
      for (const index of indexes) refuse(index, { ...why, input: messages[index] })
      return { refused, trouble: why, id: undefined }
    }

    for (let index = 0; index < messages.length; index++) {
      const encoded = encode(messages[index], lot)
      if (isLeft(encoded)) {
        refuse(index, encoded.left)
      } else {
        const payload = encoded.right
        const places = route(source.places, payload.items[0])
        if (places.length === 0) unrouted++
        good.push({ payload, places })
        indexes.push(index)
      }
    }
    if (isClosing()) return refuseAll(closed(undefined))
    const lacking = storage.lacksRoom(good)
    if (lacking !== undefined) return refuseAll(lacking)

    const settle = (position: number, failure: NotStored | undefined): void => {
      if (failure === undefined) return
      trouble ??= failure
      const index = indexes[position] ?? 0
      refuse(index, { ...failure, input: messages[index] })
    }

    const conclude = (): Taken => {
      tally.accepted(source, messages.length - refused.length, unrouted)
      return { refused, trouble, id: good.at(-1)?.payload.id }
    }

    const open: Array<PromiseLike<void>> = []
    good.forEach((share, position) => {
      const failure = storage.store(share)
      if (isPromiseLike(failure)) {
        open.push(
          failure.then((answer) => {
            settle(position, answer)
          }),
        )
      } else {
        settle(position, failure)
      }
    })
    return open.length === 0 ? conclude() : Promise.all(open).then(conclude)
  }
