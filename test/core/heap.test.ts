import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { heap, type Heap } from '../../src/core/heap.ts'
import { same } from '../support/check.ts'

/** Few keys, so that many are equal. */
type Command =
  | { readonly do: 'push'; readonly keys: ReadonlyArray<number> }
  | { readonly do: 'pop'; readonly times: number }
  | { readonly do: 'drain' }

const key = fc.oneof(
  fc.nat({ max: 5 }),
  fc.integer({ min: -1_000, max: 1_000 }),
  fc.constantFrom(1_767_225_600_000, 1_767_225_600_001, Infinity),
)
const keys = fc.oneof(
  fc.array(key, { maxLength: 5 }),
  fc.array(key, { minLength: 40, maxLength: 400, size: 'max' }),
)

const commands: fc.Arbitrary<ReadonlyArray<Command>> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('push' as const), keys }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('pop' as const),
        times: fc.oneof(fc.nat({ max: 5 }), fc.nat({ max: 500 })),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ do: 'drain' as const }) },
  ),
  { maxLength: 20, size: 'max' },
)

/** The model: an array kept in order, equal keys in the order they came. */
const model = (): Heap<number> => {
  const held: Array<{ readonly key: number; readonly item: number }> = []
  return {
    size: () => held.length,
    push: (key, item) => {
      const after = held.findIndex((other) => other.key > key)
      held.splice(after < 0 ? held.length : after, 0, { key, item })
    },
    peekKey: () => held[0]?.key,
    peek: () => held[0]?.item,
    pop: () => held.shift()?.item,
    drain: () => held.splice(0).map(({ item }) => item),
  }
}

const inOrder = (items: ReadonlyArray<number>): ReadonlyArray<number> => items.toSorted((a, b) => a - b)

/** Does the same to both and compares their answers. */
const compare = (real: Heap<number>, wanted: Heap<number>, all: ReadonlyArray<Command>): void => {
  let pushed = 0
  const look = (): void =>
    same([real.size(), real.peekKey(), real.peek()], [wanted.size(), wanted.peekKey(), wanted.peek()])
  for (const command of all) {
    switch (command.do) {
      case 'push':
        for (const each of command.keys) {
          real.push(each, pushed)
          wanted.push(each, pushed++)
        }
        break
      case 'pop':
        for (let i = 0; i < command.times; i++) same(real.pop(), wanted.pop())
        break
      case 'drain':
        same(inOrder(real.drain()), inOrder(wanted.drain()))
    }
    look()
  }
  while (wanted.size() > 0) same(real.pop(), wanted.pop())
  same([real.size(), real.peekKey(), real.peek(), real.pop()], [0, undefined, undefined, undefined])
}

describe('heap', () => {
  it('hands out what a sorted array hands out', () =>
    fc.assert(fc.property(commands, (all) => compare(heap<number>(), model(), all))))

  it('keeps the order of equal keys after it was empty', () => {
    const queue = heap<string>()
    queue.push(1, 'a')
    queue.pop()
    for (const item of ['b', 'c', 'd']) queue.push(7, item)
    expect([queue.pop(), queue.pop(), queue.pop()]).toEqual(['b', 'c', 'd'])
  })
})
