/** The laws of `batch`, for payloads and for any items. */
import * as fc from 'fast-check'
import { from } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { batch, lift, type ItemBatchOptions } from '../../src/index.ts'
import type { ObservableEither, Refusal, Threw, TooLarge } from '../../src/index.ts'
import type { ItemBatch } from '../../src/event/payload.ts'
import { batchLaws, checkLaws, law, registerLaws, reportOf, same } from '../../src/testing/laws/index.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

type ItemBatcher = <A>(
  options: ItemBatchOptions<A>,
) => <L>(source: ObservableEither<L, A>) => ObservableEither<L | Refusal | Threw, ItemBatch<A>>

interface Sized {
  readonly n: number
  /** Null throws. */
  readonly size: unknown
}

const LIMIT = 20

/** The numbers of a batch, or the kind and the number of what is refused, and both sizes if it is too large. */
const playItems = (make: ItemBatcher, items: ReadonlyArray<Sized>): ReadonlyArray<unknown> => {
  const told: unknown[] = []
  const sizeOf = ({ size }: Sized): number => {
    if (size === null) throw new Error('planted')
    // What code without types may answer.
    return size as number
  }
  from(items)
    .pipe(lift(), make({ sizeOf, maxCount: 3, maxBytes: LIMIT, clock: virtualClock() }))
    .subscribe({
      next: (each) => {
        if (each._tag === 'Right') return told.push(each.right.items.map(({ n }) => n))
        const { _tag, input } = each.left as TooLarge
        const sizes = each.left._tag === 'TooLarge' ? [each.left.size, each.left.limit] : []
        return told.push([_tag, (input as Sized).n, ...sizes])
      },
      error: (error: unknown) => told.push(error),
    })
  return told
}

const hasSize = ({ size }: Sized): boolean => typeof size === 'number' && size >= 0

const wrongSize = (make: ItemBatcher) =>
  law({
    id: 'batch/wrong-size',
    statement: 'A wrong answer of sizeOf costs its item only, and so does one that is too large.',
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
      same(
        told.filter((each) => Array.isArray(each) && each[0] === 'TooLarge'),
        items.flatMap(({ n, size }) => (Number(size) > LIMIT ? [['TooLarge', n, size, LIMIT]] : [])),
      )
      const others = told.filter((each) => !isRefusal(each))
      same(others, playItems(make, items.filter(hasSize)))
    },
  })

describe('batch', () => registerLaws({ test: it }, batchLaws(batch)))
describe('batch with sizeOf', () => registerLaws({ test: it }, [wrongSize(batch)]))

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
