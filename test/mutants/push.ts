/** A push source over plain arrays, and what could be wrong with one. */
import * as E from 'fp-ts/lib/Either.js'
import { abandoned, dropped } from '../../src/core/outcome.ts'
import { closed, full, tooLarge } from '../../src/core/refusal.ts'
import type { Push } from '../../src/sources/push.ts'
import type { MakePush } from '../laws/push.ts'
import type { Item } from '../laws/pushWorld.ts'

export const pushBugs = {
  oneMore: ['Q1', 'held one item more than its capacity'],
  noBytes: ['Q1', 'counted no bytes'],
  keepsBytes: ['Q7', 'counted the bytes of what was read for ever'],
  dropsWrong: ['Q7', 'dropped the newest of what waits for the oldest'],
  silent: ['Q2', 'did not say what it dropped'],
  leavesBehind: ['Q2', 'did not say what a reader left behind'],
  forgetsCount: ['Q3', 'did not count what it dropped'],
  takesAfterEnd: ['Q7', 'took items after the end'],
  stack: ['Q4', 'gave the newest first'],
  lastWaiter: ['Q6', 'let the last of those who wait through first'],
  sleeps: ['Q8', 'let only one through for each item that was read'],
  eager: ['Q7', 'let those who wait through without room'],
  evictsAll: ['Q7', 'emptied itself for an item that never fits'],
  hangs: ['Q5', 'left readers waiting at the end'],
} as const

export type PushBug = keyof typeof pushBugs

const DONE = { done: true, value: undefined } as const

export const pushWith =
  (bug: PushBug | undefined): MakePush =>
  ({ capacity = 1, maxBytes = 1, overflow = 'error', onDropped = () => undefined }): Push<Item> => {
    const counts = { accepted: 0, taken: 0, dropped: 0, abandoned: 0, refused: 0 }
    let held: Item[] = []
    let kept = 0
    let readers: Array<(result: IteratorResult<Item, undefined>) => void> = []
    let waiters: Array<() => void> = []
    let promised = 0
    let turning = false
    let lastSize = 0
    let ended = false

    const bytes = (): number => held.reduce((sum, item) => sum + item.size, 0) + kept
    const most = bug === 'oneMore' ? capacity + 1 : capacity
    const bound = (size: number): 'count' | 'bytes' | undefined => {
      if (held.length >= most) return 'count'
      return bytes() + size > maxBytes && bug !== 'noBytes' ? 'bytes' : undefined
    }
    const room = (): number => {
      if (ended || bug === 'eager') return Infinity
      const places = capacity - held.length
      return lastSize === 0 ? places : Math.min(places, Math.floor((maxBytes - bytes()) / lastSize))
    }
    const letThrough = (): void => {
      while (waiters.length > 0 && promised < room()) {
        promised++
        ;(bug === 'lastWaiter' ? waiters.pop() : waiters.shift())?.()
      }
      if (promised === 0 || turning || ended || bug === 'sleeps') return
      turning = true
      setImmediate(() => {
        turning = false
        promised = 0
        letThrough()
      })
    }
    const serve = (): void => {
      while (readers.length > 0 && held.length > 0) {
        const item = bug === 'stack' ? held.pop() : held.shift()
        if (item === undefined) return
        if (bug === 'keepsBytes') kept += item.size
        counts.taken++
        readers.shift()?.({ done: false, value: item })
      }
      if (!ended || bug === 'hangs') return
      for (const reader of readers) reader(DONE)
      readers = []
    }
    const refuse = <L>(refusal: L): E.Either<L, void> => {
      counts.refused++
      return E.left(refusal)
    }
    const drop = (item: Item, reason: 'dropNewest' | 'dropOldest'): void => {
      if (bug !== 'forgetsCount') counts.dropped++
      if (bug !== 'silent') onDropped(dropped(item, 0, reason))
    }
    const end = (): void => {
      ended = true
      letThrough()
      for (const waiter of waiters) waiter()
      waiters = []
      serve()
    }

    return {
      offer: (item) => {
        if (ended && bug !== 'takesAfterEnd') return refuse(closed(item))
        const fits = item.size >= 0 && item.size <= maxBytes
        if (!fits) {
          if (bug === 'evictsAll' && overflow === 'dropOldest')
            for (const each of held.splice(0)) drop(each, 'dropOldest')
          return refuse(tooLarge(item, maxBytes, item.size, undefined))
        }
        lastSize = item.size
        const reached = bound(item.size)
        if (reached !== undefined && overflow === 'error') {
          return refuse(full(item, reached, reached === 'count' ? capacity : maxBytes))
        }
        counts.accepted++
        if (reached !== undefined && overflow === 'dropNewest') {
          drop(item, 'dropNewest')
          return E.right(undefined)
        }
        const gone: Item[] = []
        while (bound(item.size) !== undefined && held.length > 0) {
          const out = bug === 'dropsWrong' ? held.pop() : held.shift()
          if (out !== undefined) gone.push(out)
        }
        held.push(item)
        if (promised > 0) promised--
        serve()
        for (const each of gone) drop(each, 'dropOldest')
        return E.right(undefined)
      },
      ready: () =>
        new Promise((resolve) => {
          waiters.push(resolve)
          letThrough()
        }),
      end,
      stats: () => ({ ...counts, waiting: held.length, bytes: bytes() - kept }),
      [Symbol.asyncIterator]: () => ({
        next: () =>
          new Promise((resolve) => {
            readers.push(resolve)
            serve()
            if (bug === 'sleeps') promised = Math.max(0, promised - 1)
            letThrough()
          }),
        return: () => {
          const left = held
          held = []
          counts.abandoned += left.length
          end()
          if (bug !== 'leavesBehind') for (const item of left) onDropped(abandoned(item, 0, undefined))
          return Promise.resolve(DONE)
        },
      }),
    }
  }
