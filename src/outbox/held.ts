import { queue } from '../core/queue.ts'
import type { Entry } from './outbox.ts'
import type { Line } from './take.ts'

/** Leased entries in no delivery, in the order in which they came. */
export class Held<A> implements Line {
  count = 0
  bytes = 0
  private readonly entries = queue<Entry<A>>()
  private readonly sizeOf: (item: A) => number

  constructor(sizeOf: (item: A) => number) {
    this.sizeOf = sizeOf
  }

  push(entry: Entry<A>): void {
    this.bytes += this.sizeOf(entry.item)
    this.count++
    this.entries.push(entry)
  }

  /** Puts entries before all others. */
  putBack(first: ReadonlyArray<Entry<A>>): void {
    for (const entry of [...first, ...this.drain()]) this.push(entry)
  }

  /** Removes the oldest, unless it is larger than `maxBytes`. */
  shift(maxBytes = Infinity): Entry<A> | undefined {
    const oldest = this.entries.peek()
    if (oldest === undefined) return undefined
    const size = this.sizeOf(oldest.item)
    if (size > maxBytes) return undefined
    this.bytes -= size
    this.count--
    return this.entries.shift()
  }

  /** Removes the entries of the next delivery: the oldest that fit, at least one, without those that ended. */
  next(count: number, bytes: number, hasEnded: (entry: Entry<A>) => boolean): Array<Entry<A>> {
    let first = this.shift()
    while (first !== undefined && hasEnded(first)) first = this.shift()
    if (first === undefined) return []
    // Not an empty list: the first push would make room for 16 entries.
    const entries = [first]
    let room = bytes - this.sizeOf(first.item)
    while (entries.length < count) {
      const entry = this.shift(room)
      if (entry === undefined) break
      if (hasEnded(entry)) continue
      entries.push(entry)
      room -= this.sizeOf(entry.item)
    }
    return entries
  }

  drain(): ReadonlyArray<Entry<A>> {
    this.count = this.bytes = 0
    return this.entries.drain()
  }
}

/** How much may wait in a store beside the entries that it handed out. */
export class Estimate implements Line {
  count: number
  bytes: number

  constructor(start: number) {
    this.count = this.bytes = start
  }

  add(bytes: number): void {
    this.count++
    this.bytes += bytes
  }

  /** `Infinity`: only the store knows. */
  set(to: number): void {
    this.count = this.bytes = to
  }
}
