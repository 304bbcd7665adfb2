import type { Event } from '../../event/Event.ts'
import type { Payload } from '../../event/Payload.ts'
import { payloadCodec } from '../../destination/keeping/payloadCodec.ts'
import type { Full } from '../../outcome/Refusal.ts'
import { isPromiseLike } from '../../internal/Awaitable.ts'
import { lmdbOutbox } from '../../outbox/lmdb/lmdbOutbox.ts'
import { memoryOutbox } from '../../outbox/memoryOutbox.ts'
import type { Outbox } from '../../sink/Outbox.ts'
import type { Carrier, Reading } from '../forward/Carrier.ts'
import { fromText, toText } from '../forward/Position.ts'

/** A folder for events that wait, and the name of the input that they come from. */
export interface KeptIn {
  readonly path: string
  /** Undefined for an input that cannot be read a second time. */
  readonly input: string | undefined
}

/** Where the events of a run wait. */
export interface Kept extends Pick<Carrier, 'taken' | 'finished'> {
  readonly outbox: Outbox<Payload<Event>>
}

interface Bounds {
  readonly maxCount: number
  readonly maxBytes: number
}

const inMemory = ({ maxCount, maxBytes }: Bounds, { offered }: Reading): Kept => {
  // Dead events are reported and handed over, not kept.
  const outbox = memoryOutbox<Payload<Event>>({ maxCount, maxBytes, keepDead: 0 })
  return {
    outbox: {
      ...outbox,
      append: (item) => {
        offered(item)
        return outbox.append(item)
      },
    },
    taken: () => undefined,
    finished: () => Promise.resolve(),
  }
}

/**
 * Where the events of a run wait: in memory, or in a folder. There each event is stored together with how far the input was taken, in one
 * transaction, so that a run which was killed and is started again goes on behind the last event that is in keeping.
 */
export const kept = (folder: KeptIn | undefined, bounds: Bounds, reading: Reading): Kept => {
  if (folder === undefined) return inMemory(bounds, reading)
  const { path, input } = folder
  const { maxCount, maxBytes } = bounds
  const store = lmdbOutbox<Payload<Event>>({ path, maxCount, maxBytes, codec: payloadCodec })
  /** Lines that found no room; they are offered again before any new one. */
  const missing = new Set<number>()
  /** How far everything was taken. */
  let mark = input === undefined ? undefined : store.bookmark(input)

  const append: Outbox<Payload<Event>>['append'] = (item) => {
    reading.offered(item)
    if (input === undefined) return store.append(item)
    const position = reading.position()
    missing.delete(position.line)
    const value = missing.size === 0 ? toText(position) : (mark ?? '')
    const answer = store.append(item, { bookmark: { name: input, value } })
    if (!isPromiseLike(answer) && isFull(answer)) missing.add(position.line)
    else mark = value
    return answer
  }

  return {
    outbox: { ...store, append },
    taken: () => fromText(input === undefined ? undefined : store.bookmark(input)),
    finished: () => (input === undefined ? Promise.resolve() : store.forget(input)),
  }
}

const isFull = (answer: { readonly _tag: string; readonly left?: Full }): boolean => answer._tag === 'Left'
