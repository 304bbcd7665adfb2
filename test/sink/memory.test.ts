import { left, right } from 'fp-ts/lib/Either.js'
import { expect, expectTypeOf, it } from 'vitest'
import { memory, type MemorySink } from '../../src/sink/memory.ts'
import { refused } from '../../src/index.ts'
import { hear } from './deliverOnce.ts'

it('holds items in order, up to its limit', () => {
  const sink = memory<string>({ name: 'kept', maxCount: 2 })
  const verdicts = ['a', 'b', 'c'].map((item) => hear(sink, item).told[0])
  const taken = right({ sink: 'kept' })
  expect(verdicts).toEqual([taken, taken, left(refused('noRoom', { detail: 'it holds 2 items at most' }))])
  expect(sink.items()).toEqual(['a', 'b'])
})

it('gives a copy of its items, also after a close', async () => {
  const sink = memory<string>()
  const before = sink.items()
  hear(sink, 'a')
  await sink.close({ timeout: 1 })
  expect([before, sink.items(), sink.name]).toEqual([[], ['a'], 'memory'])
})

it('is typed', () => expectTypeOf(memory<string>()).toEqualTypeOf<MemorySink<string>>())
