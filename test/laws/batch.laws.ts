/** The laws of `batch`, for payloads and for any items. */
import * as fc from 'fast-check'
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { from, map } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { batch, lift, type ItemBatchOptions, type KeyedBatchOptions } from '../../src/index.ts'
import type { ObservableEither, Refusal, Threw, TooLarge } from '../../src/index.ts'
import { frameBytes, jsonArrayFrame } from '../../src/event/payload.ts'
import type { BatchPayload, EventPayload, Frame, ItemBatch, Payload } from '../../src/event/payload.ts'
import { batchLaws, checkLaws, law, registerLaws, reportOf, same } from '../../src/testing/laws/index.ts'
import type { Batcher } from '../../src/testing/laws/index.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

type ItemBatcher = <A>(
  options: ItemBatchOptions<A>,
) => <L>(source: ObservableEither<L, A>) => ObservableEither<L | Refusal | Threw, ItemBatch<A>>

/** A batch of any items that gathers payloads as items: each counts with a comma, and the limit leaves the frame out. */
const ofItems =
  (make: ItemBatcher): Batcher =>
  <A>({ frame = jsonArrayFrame, maxBytes = 500_000, by, ...options }: KeyedBatchOptions<Frame, A>) => {
    const beside = frameBytes(frame) - 1
    return <L>(source: ObservableEither<L, Payload<A>>) =>
      source.pipe(
        make<Payload<A>>({
          ...options,
          // The worlds of the laws offer single payloads only.
          ...(by && { by: (payload: Payload<A>) => by(payload.items[0]) }),
          maxBytes: maxBytes - beside,
          sizeOf: ({ byteLength }) => byteLength + 1,
        }),
        map((each): Either<L | Refusal | Threw, BatchPayload<A>> => {
          if (each._tag === 'Right') {
            const members = each.right.items as ReadonlyArray<EventPayload<A>>
            const items = members.flatMap((member) => member.items)
            const byteLength = each.right.byteLength + beside
            return right({ ...each.right, items, members, frame, byteLength })
          }
          const refusal = each.left as L | TooLarge
          if (typeof refusal !== 'object' || refusal === null || !('size' in refusal)) return each
          const { id } = refusal.input as Payload<A>
          return left({ ...refusal, id, size: refusal.size + beside, limit: maxBytes })
        }),
      )
  }

interface Sized {
  readonly n: number
  /** Null throws. */
  readonly size: unknown
}

/** `Refusal` for what has no size, `TooLarge` for what is too large, or the numbers of a batch. */
const playItems = (make: ItemBatcher, items: ReadonlyArray<Sized>): ReadonlyArray<unknown> => {
  const told: unknown[] = []
  const sizeOf = ({ size }: Sized): number => {
    if (size === null) throw new Error('planted')
    // What code without types may answer.
    return size as number
  }
  from(items)
    .pipe(lift(), make({ sizeOf, maxCount: 3, maxBytes: 20, clock: virtualClock() }))
    .subscribe({
      next: (each) => {
        if (each._tag === 'Right') told.push(each.right.items.map(({ n }) => n))
        else told.push([each.left._tag, 'input' in each.left && (each.left.input as Sized).n])
      },
      error: (error: unknown) => told.push(error),
    })
  return told
}

const hasSize = ({ size }: Sized): boolean => typeof size === 'number' && size >= 0

const wrongSize = (make: ItemBatcher) =>
  law({
    id: 'batch/wrong-size',
    statement: 'A wrong answer of sizeOf costs its item only.',
    input: fc.array(
      fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 0, max: 22 }) }, fc.constantFrom(-1, null, '5')),
      { maxLength: 20, size: 'max' },
    ),
    check: (sizes) => {
      const items = sizes.map((size, n) => ({ n, size }))
      const told = playItems(make, items)
      const isRefusal = (each: unknown): boolean =>
        Array.isArray(each) && (each[0] === 'Invalid' || each[0] === 'Threw')
      const wrong = items.filter((item) => !hasSize(item))
      same(
        told.filter(isRefusal),
        wrong.map(({ n, size }) => [size === null ? 'Threw' : 'Invalid', n]),
      )
      const others = told.filter((each) => !isRefusal(each))
      same(others, playItems(make, items.filter(hasSize)))
    },
  })

describe('batch', () => registerLaws({ test: it }, batchLaws(batch)))
describe('batch with sizeOf', () =>
  registerLaws({ test: it }, [...batchLaws(ofItems(batch)), wrongSize(batch)]))

it('the law of wrong sizes finds a batch that counts a wrong answer as 0', async () => {
  const forgives: ItemBatcher = (options) =>
    batch({ ...options, sizeOf: (item) => Math.max(0, options.sizeOf(item)) })
  expect((await reportOf(wrongSize(forgives), { runs: 100 })).result).toBe('broken')
})

it('a law of keys keeps still when two batches close at one moment', async () => {
  const commands = [
    { do: 'offer', size: 0, key: 0 },
    { do: 'within', commands: [1, 0].map((key) => ({ do: 'offer', size: 0, key })) },
    { do: 'advance', ms: 4 },
    { do: 'complete' },
  ]
  const bounds = { maxCount: null, maxBytes: 10, maxDelay: 2, delayFrom: 'lastFlush', keys: 3, maxKeys: 2 }
  await checkLaws(batchLaws(batch), { only: 'batch/closes-for-its-cause', example: { ...bounds, commands } })
})
