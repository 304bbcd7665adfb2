import { right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { EMPTY, NEVER, catchError, concat, filter, map } from 'rxjs'
import { systemClock } from '../../core/clock.ts'
import type { Clock } from '../../core/clock.ts'
import type { ObservableEither } from '../../core/outcome.ts'
import type { TooLarge } from '../../core/refusal.ts'
import { jsonArrayFrame } from '../../event/payload.ts'
import type { BatchPayload, Payload } from '../../event/payload.ts'
import { batch, type BatchOptions } from '../../operators/batch.ts'
import type { Batcher } from './batchWorld.ts'
import type { Broken } from './law.ts'

/** Other options than those that were asked for. */
const asked =
  (change: (options: BatchOptions, clock: Clock) => BatchOptions): Batcher =>
  (options = {}) =>
    batch({ ...options, ...change(options, options.clock ?? systemClock) })

/** Each batch is changed on its way out. */
const changed =
  (change: <A>(out: BatchPayload<A>) => BatchPayload<A>): Batcher =>
  (options) =>
  <L, A>(source: ObservableEither<L, Payload<A>>) =>
    source.pipe(
      batch(options),
      map((each) => (each._tag === 'Right' ? right(change(each.right)) : each)),
    )

/** Batchers with one fault each. */
export const brokenBatchers = {
  'puts items in the wrong order': {
    breaks: 'batch/nothing-lost',
    make: changed((out) => ({ ...out, items: [...out.items].reverse() })),
  },
  'hands nothing back at an unsubscription': {
    breaks: 'batch/nothing-lost',
    make: asked(() => ({ abandoned: () => undefined })),
  },
  'counts no commas': {
    breaks: 'batch/size-is-exact',
    make: changed((out) => ({ ...out, byteLength: out.byteLength - (out.members.length - 1) })),
  },
  'takes one item too many': {
    breaks: 'batch/size-is-exact',
    make: asked(({ maxCount = 20 }) => ({ maxCount: maxCount + 1 })),
  },
  'takes one byte too many': {
    breaks: 'batch/size-is-exact',
    make: asked(({ maxBytes = 500_000 }) => ({ maxBytes: maxBytes + 1 })),
  },
  'gives every batch the same id': { breaks: 'batch/own-id', make: asked(() => ({ newId: () => 'id' })) },
  'completes in the place of an error': {
    breaks: 'batch/ends-once',
    make: (options) => (source) =>
      source.pipe(
        batch(options),
        catchError(() => EMPTY),
      ),
  },
  'leaves its timer behind': {
    breaks: 'batch/one-timer',
    make: asked((_, clock) => ({
      clock: {
        ...clock,
        schedule: (ms, task) => {
          clock.schedule(ms, task)
          return () => undefined
        },
      },
    })),
  },
  'measures by the wall clock': {
    breaks: 'batch/wall-clock-is-free',
    make: asked((_, clock) => ({ clock: { ...clock, monotonic: clock.now } })),
  },
  'emits within an emission': {
    breaks: 'batch/no-emission-within-another',
    make:
      ({ frame = jsonArrayFrame } = {}) =>
      <L, A>(source: ObservableEither<L, Payload<A>>) =>
        source.pipe(
          map((each): Either<L | TooLarge, BatchPayload<A>> => {
            if (each._tag === 'Left') return each
            const payload = each.right
            const { id, items, byteLength } = payload
            const members = payload.members ?? [payload]
            return right({ id, items, members, byteLength, frame, closedBy: 'count' })
          }),
        ),
  },
  'lets in what is one byte too large': {
    breaks: 'batch/too-large-is-refused',
    make: asked(({ maxBytes = 500_000 }) => ({ maxBytes: maxBytes + 1 })),
  },
  'waits for one item more than it may take': {
    breaks: 'batch/full-leaves-at-once',
    make: asked(({ maxCount = 20 }) => ({ maxCount: maxCount + 1 })),
  },
  'drops what has ended already': {
    breaks: 'batch/lefts-pass',
    make: (options) => (source) =>
      source.pipe(
        batch(options),
        filter((each) => each._tag === 'Right' || typeof each.left !== 'string'),
      ),
  },
  'has no timer': { breaks: 'batch/delay-holds', make: asked(() => ({ maxDelay: Infinity })) },
  'waits twice as long': {
    breaks: 'batch/delay-holds',
    make: asked(({ maxDelay = 5_000 }) => ({ maxDelay: 2 * maxDelay })),
  },
  'ignores a flush': { breaks: 'batch/nothing-stays-behind', make: asked(() => ({ flush: EMPTY })) },
  'loses the rest on completion': {
    breaks: 'batch/nothing-stays-behind',
    make: (options) => (source) => concat(source, NEVER).pipe(batch(options)),
  },
  'always counts the delay from the first item': {
    breaks: 'batch/closes-for-its-cause',
    make: asked(() => ({ delayFrom: 'firstItem' })),
  },
  'closes a little too soon': {
    breaks: 'batch/closes-for-its-cause',
    make: asked(({ maxDelay = 5_000 }) => ({ maxDelay: Math.max(1, maxDelay - 1) })),
  },
} satisfies Record<string, Broken<Batcher>>
