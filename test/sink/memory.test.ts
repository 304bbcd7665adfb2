import { left, right } from 'fp-ts/lib/Either.js'
import { expect, expectTypeOf, it } from 'vitest'
import { memory, type MemorySink } from '../../src/sink/memory.ts'
import { onlyAttempt, refused, type Verdict } from '../../src/index.ts'

it('holds items in order, up to its limit', () => {
  const sink = memory<string>({ name: 'kept', maxCount: 2 })
  const verdicts: Verdict[] = []
  for (const item of ['a', 'b', 'c']) sink.deliver(item, onlyAttempt).subscribe((one) => verdicts.push(one))
  const taken = right({ sink: 'kept' })
  expect(verdicts).toEqual([taken, taken, left(refused('noRoom', { detail: 'it holds 2 items at most' }))])
  expect(sink.items()).toEqual(['a', 'b'])
})

it('gives a copy of its items, also after a close', async () => {
  const sink = memory<string>()
  const before = sink.items()
  sink.deliver('a', onlyAttempt).subscribe()
  await sink.close({ timeout: 1 })
  expect([before, sink.items(), sink.name]).toEqual([[], ['a'], 'memory'])
})

it('is typed', () => expectTypeOf(memory<string>()).toEqualTypeOf<MemorySink<string>>())
