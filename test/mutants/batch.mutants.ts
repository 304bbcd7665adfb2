/** A second, plainer batch with one bug at a time. A law must find each. */
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { Observable, tap } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { jsonArrayFrame, frameBytes } from '../../src/event/payload.ts'
import type { BatchPayload, ClosedBy, Payload } from '../../src/event/payload.ts'
import type { ObservableEither } from '../../src/core/outcome.ts'
import { tooLarge } from '../../src/core/refusal.ts'
import type { TooLarge } from '../../src/core/refusal.ts'
import { batch } from '../../src/operators/batch.ts'
import { mapRight } from '../../src/operators/rightSide.ts'
import { batchLaws, itemBatchLaws } from '../laws/batch.laws.ts'
import type { BatchUnderTest, ItemBatchUnderTest } from '../laws/batch.laws.ts'

/** The law that each one breaks, and how. */
const bugs = {
  oversizeIn: ['B2', 'lets a single item over the limit in'],
  noTimer: ['B6', 'has no timer'],
  noFinalFlush: ['B7', 'loses the rest on completion'],
  silentTeardown: ['B7', 'hands nothing back at unsubscribing'],
  overBytes: ['B5', 'looks at the bytes after adding'],
  reordered: ['B1', 'puts items in front'],
  overCount: ['B5', 'is off by one in the count'],
  slidingTimer: ['B10', 'starts the delay anew with each item'],
  commaForgotten: ['B5', 'counts no commas'],
  leftsWait: ['L1', 'keeps back what has ended until a batch leaves'],
  emitFirst: ['B1', 'emits before it has decided'],
  nested: ['B12', 'emits from within an emission'],
  timerLeft: ['B9', 'leaves its timer behind at the end'],
  delayFromIgnored: ['B10', 'always counts the delay from the first item'],
  pauseWaits: ['B10', 'lets what comes after a long pause wait'],
  wallClock: ['B11', 'measures by the wall clock'],
  flushIgnored: ['B7', 'ignores the flush'],
  errorSwallowed: ['B8', 'completes instead of failing'],
  sameId: ['L2', 'gives every batch one id'],
} as const

type Bug = keyof typeof bugs

/** With no bug it keeps every law, which shows that it is the bug that breaks them. */
const batchWith =
  (bug: Bug | undefined): BatchUnderTest =>
  (given) => {
    const options = given ?? {}
    const { maxCount = 20, maxBytes = 500_000, maxDelay = 5_000, delayFrom = 'firstItem' } = options
    const { frame = jsonArrayFrame, clock = systemClock, newId = String } = options
    const is = (that: Bug): boolean => bug === that
    const frameSize = frameBytes(frame)
    const limit = is('overCount') ? maxCount + 1 : maxCount
    const comma = is('commaForgotten') ? 0 : 1
    const time = (): number => (is('wallClock') ? clock.now() : clock.monotonic())

    return <L, A>(source: ObservableEither<L, Payload<A>>) =>
      new Observable<Either<L | TooLarge, BatchPayload<A>>>((subscriber) => {
        const waiting: Array<{ readonly batch?: BatchPayload<A>; readonly run: () => void }> = []
        const lefts: L[] = []
        let open: Array<Payload<A>> = []
        let cancel: (() => void) | undefined
        let last = time()
        let busy = false

        const bytes = (): number =>
          frameSize +
          open.reduce((sum, each) => sum + each.byteLength, 0) +
          comma * Math.max(0, open.length - 1)
        const drain = (): void => {
          if (busy && !is('nested')) return
          busy = true
          for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) next.run()
          busy = false
        }
        const batchOf = (members: ReadonlyArray<Payload<A>>, closedBy: ClosedBy): BatchPayload<A> => ({
          id: is('sameId') ? 'id' : newId(),
          items: members.flatMap((each) => each.items),
          members: members.flatMap((each) => each.members ?? [each]),
          byteLength: bytes(),
          frame,
          closedBy,
        })
        const pass = (value: Either<L | TooLarge, BatchPayload<A>>): void => {
          waiting.push({
            run: () => subscriber.next(value),
          })
        }
        const send = (payload: BatchPayload<A>): void => {
          const run = (): void => subscriber.next(right(payload))
          waiting.push({ batch: payload, run })
        }
        const close = (closedBy: ClosedBy): void => {
          if (open.length === 0) return
          send(batchOf(open, closedBy))
          open = []
          last = time()
          cancel?.()
          cancel = undefined
          for (const each of lefts.splice(0)) pass(left(each))
        }
        const onTimer = (): void => {
          cancel = undefined
          close('delay')
          drain()
        }
        const arm = (): void => {
          if (is('slidingTimer')) {
            cancel?.()
            cancel = undefined
          }
          if (cancel !== undefined || maxDelay === Infinity || is('noTimer')) return
          const fromFirst = delayFrom === 'firstItem' || is('delayFromIgnored')
          const wait = fromFirst ? maxDelay : last + maxDelay - time()
          if (wait <= 0 && !is('pauseWaits')) {
            close('delay')
            return
          }
          cancel = clock.schedule(wait > 0 ? wait : maxDelay, onTimer)
        }
        const offer = (payload: Payload<A>): void => {
          const alone = frameSize + payload.byteLength
          if (alone > maxBytes && !is('oversizeIn')) {
            pass(left(tooLarge(payload, maxBytes, alone, payload.id)))
            return
          }
          if (open.length > 0 && bytes() + comma + payload.byteLength > maxBytes && !is('overBytes')) {
            close('bytes')
            if (is('emitFirst')) drain()
          }
          if (is('reordered')) open.unshift(payload)
          else open.push(payload)
          if (open.length >= limit) close('count')
          else if (bytes() >= maxBytes) close('bytes')
          else arm()
        }
        const end = (run: () => void): void => {
          if (is('noFinalFlush')) open = []
          close('end')
          waiting.push({ run })
          drain()
        }

        subscriber.add(() => {
          if (!is('timerLeft')) cancel?.()
          const rest = [...waiting.splice(0).flatMap(({ batch }) => batch ?? []), ...open]
          open = []
          if (rest.length === 0 || is('silentTeardown')) return
          options.abandoned?.(rest)
        })
        const flush = (): void => {
          if (!is('flushIgnored')) close('flush')
          drain()
        }
        subscriber.add(options.flush?.subscribe(flush))
        return source.subscribe({
          next: (each) => {
            if (each._tag === 'Right') offer(each.right)
            else if (is('leftsWait')) lefts.push(each.left)
            else pass(each)
            drain()
          },
          error: (defect: unknown) =>
            end(() => {
              if (is('errorSwallowed')) subscriber.complete()
              else subscriber.error(defect)
            }),
          complete: () => end(() => subscriber.complete()),
        })
      })
  }

describe('the laws of batch', () => {
  it('hold for the plain batch without a bug', () => {
    for (const { fails } of batchLaws(batchWith(undefined))) expect(fails(100)).toBe(false)
  })

  // The keys of an object are its keys.
  const mutants = (Object.keys(bugs) as Bug[]).map((bug) => ({ bug, law: bugs[bug][0], what: bugs[bug][1] }))
  it.each(mutants)('$law finds one that $what', ({ bug, law }) => {
    const laws = batchLaws(batchWith(bug)).filter(({ id }) => id.startsWith(`${law} `))
    expect(laws.some(({ fails }) => fails())).toBe(true)
  })
})

/** Batches of items with one bug at a time. */
const itemBugs: ReadonlyArray<readonly [string, string, ItemBatchUnderTest]> = [
  [
    'B16',
    'counts a wrong answer as 0',
    (options) =>
      batch({
        ...options,
        sizeOf: (item) => {
          try {
            const size = options.sizeOf(item)
            return size >= 0 ? size : 0
          } catch {
            return 0
          }
        },
      }),
  ],
  [
    'B16',
    'ends the stream when sizeOf throws',
    (options) => (source) =>
      source.pipe(
        tap((each) => each._tag === 'Right' && options.sizeOf(each.right)),
        batch(options),
      ),
  ],
  ['B5', 'counts a frame', (options) => batch({ ...options, sizeOf: (item) => options.sizeOf(item) + 1 })],
  [
    'B1',
    'joins what is left in the order of size',
    (options) => (source) =>
      source.pipe(
        batch(options),
        mapRight((each) => ({
          ...each,
          items: [...each.items].sort((a, b) => options.sizeOf(a) - options.sizeOf(b)),
        })),
      ),
  ],
]

describe('the laws of a batch of items', () => {
  it.each(itemBugs)('%s finds one that %s', (id, _, make) => {
    const laws = itemBatchLaws(make).filter((law) => law.id.startsWith(`${id} `))
    expect(laws.some(({ fails }) => fails())).toBe(true)
  })
})
