import { queue } from '../../../core/queue.ts'

/** How much may be remembered of what was appended. */
export interface Remembered {
  readonly count: number
  /** Of the records as they are stored. */
  readonly bytes: number
}

/** As many as a relay has in its rounds unless it is told otherwise, and what they may weigh. */
export const REMEMBERED: Remembered = { count: 1_024, bytes: 2_097_152 }

/**
 * What was appended moments ago and is not yet handed out. The process that took an item in delivers it too, most of the time at once: then
 * nothing need be read back, checked and decoded.
 */
export interface JustAppended<T> {
  /** Whether it would be remembered: there is room for it, and it is the newest. Most of a long backlog is not. */
  readonly takes: (number: number, bytes: number) => boolean
  /** Remembers what was given a number, and is stored in so many bytes, if it `takes` it. */
  readonly add: (number: number, value: T, bytes: number) => void
  /** The number of the oldest. */
  readonly first: () => number | undefined
  /** The oldest, which is forgotten with this. */
  readonly shift: () => T | undefined
}

interface Held<T> {
  readonly number: number
  readonly value: T
  readonly bytes: number
}

/** A memory with bounds. What finds no room in it is read back. */
export const justAppended = <T>(most: Remembered): JustAppended<T> => {
  const held = queue<Held<T>>()
  let bytesHeld = 0
  /** Numbers begin at 1. */
  let newest = 0
  const takes = (number: number, bytes: number): boolean =>
    number > newest && held.size() < most.count && bytesHeld + bytes <= most.bytes
  return {
    takes,
    add: (number, value, bytes) => {
      if (!takes(number, bytes)) return
      newest = number
      bytesHeld += bytes
      held.push({ number, value, bytes })
    },
    first: () => held.peek()?.number,
    shift: () => {
      const oldest = held.shift()
      if (oldest !== undefined) bytesHeld -= oldest.bytes
      return oldest?.value
    },
  }
}
