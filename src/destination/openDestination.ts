import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { systemClock } from '../clock/Clock.ts'
import type { Call } from '../event/Call.ts'
import type { Event } from '../event/Event.ts'
import type { Payload } from '../event/Payload.ts'
import { hearing } from '../observe/hearing.ts'
import { messageOf } from '../internal/messageOf.ts'
import { disabled, notKept } from '../outcome/Refusal.ts'
import type { Refusal } from '../outcome/Refusal.ts'
import type { Sink } from '../sink/Sink.ts'
import type { Accepted, Destination, DestinationOptions } from './Destination.ts'
import { doorway } from '../sources/doorway.ts'
import { encoderOf } from './encoderOf.ts'
import { numbersOf } from './numbersOf.ts'
import { sinkOf } from './sinkOf.ts'
import { workings } from './workings.ts'

/** What a destination posts to, and what its settings say beside the URLs. */
export interface Parts {
  /** Each signs what it sends, if it has a secret: what waits has no signer, whoever stores it. */
  readonly urls: ReadonlyArray<Sink<Payload<Event>>>
  readonly enabled: boolean
}

/** A destination at work over its parts, whatever they post to: all that `Destination` promises. */
export const openDestination = ({ urls, ...settings }: Parts, options: DestinationOptions): Destination => {
  const numbers = numbersOf(options)
  const hears = hearing(options)
  let enabled = settings.enabled

  const door = doorway(() => work.waiting())
  const work = workings(
    {
      sinkIn: (around) => sinkOf(urls, around),
      numbers,
      ended: door.freed,
      news: door.freed,
      answered: door.look,
      closing: door.open,
    },
    options,
  )
  const encode = encoderOf({
    clock: options.clock ?? systemClock,
    maxBody: numbers.maxBody,
    newId: options.newId,
    onDropped: (keys) => {
      work.tell({ _tag: 'KeysDropped', at: work.now(), keys })
    },
    hearsDropped: () => hears('KeysDropped'),
  })

  const refuse = (refusal: Refusal): Either<Refusal, never> => {
    if (refusal._tag === 'Full') door.turnedAway()
    work.tell({ _tag: 'RefusedAtDoor', at: work.now(), refusal })
    return left(refusal)
  }

  const send = async (call: Call): Promise<Either<Refusal, Accepted>> => {
    if (!enabled) return refuse(disabled(call))
    const encoded = encode(call)
    if (isLeft(encoded)) return refuse(encoded.left)
    door.used()
    try {
      const kept = await work.offer(encoded.right)
      return isLeft(kept) ? refuse({ ...kept.left, input: call }) : right({ id: encoded.right.id })
    } catch (error) {
      return refuse(notKept(call, messageOf(error)))
    }
  }

  return {
    send,
    ready: door.pass,
    outcomes$: work.outcomes$,
    outcomes: work.outcomes,
    attempts$: work.attempts$,
    stats: () => ({ ...work.stats(), enabled }),
    enable: () => {
      enabled = true
    },
    disable: () => {
      enabled = false
    },
    idle: work.idle,
    redrive: work.redrive,
    close: work.close,
    [Symbol.asyncDispose]: async () => {
      await work.close()
    },
  }
}
