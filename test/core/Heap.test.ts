import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { heap } from '../../src/core/heap.ts'
import type { Heap } from '../../src/core/heap.ts'

/** What is done to a heap; the keys are few, so that equal ones are the rule. */
type Command =
  | { readonly do: 'push'; readonly keys: ReadonlyArray<number> }
  | { readonly do: 'pop'; readonly times: number }
  | { readonly do: 'remove'; readonly every: number }
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
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('remove' as const), every: fc.integer({ min: 1, max: 4 }) }),
    },
    { weight: 1, arbitrary: fc.constant({ do: 'drain' as const }) },
  ),
  { maxLength: 20, size: 'max' },
)

/** The model: an array kept in order, equal keys in the order they came. */
const model = (): Heap<number> & { readonly most: () => number; readonly emptied: () => number } => {
  const held: Array<{ readonly key: number; readonly item: number }> = []
  let most = 0
  let emptied = 0
  return {
    size: () => held.length,
    push: (key, item) => {
      const after = held.findIndex((other) => other.key > key)
      held.splice(after < 0 ? held.length : after, 0, { key, item })
      most = Math.max(most, held.length)
    },
    peekKey: () => held[0]?.key,
    peek: () => held[0]?.item,
    pop: () => {
      const top = held.shift()?.item
      if (top !== undefined && held.length === 0 && most > 64) emptied++
      return top
    },
    remove: (matches) => {
      const all = held.splice(0)
      held.push(...all.filter(({ item }) => !matches(item)))
      return all.map(({ item }) => item).filter(matches)
    },
    drain: () => held.splice(0).map(({ item }) => item),
    most: () => most,
    emptied: () => emptied,
  }
}

const inOrder = (items: ReadonlyArray<number>): ReadonlyArray<number> => items.toSorted((a, b) => a - b)

/** Does the same to both, and says how they answer. Items are numbered in the order of their push. */
const compare = (real: Heap<number>, wanted: Heap<number>, all: ReadonlyArray<Command>): void => {
  let pushed = 0
  const look = (): void => {
    expect([real.size(), real.peekKey(), real.peek()]).toEqual([
      wanted.size(),
      wanted.peekKey(),
      wanted.peek(),
    ])
  }
  for (const command of all) {
    switch (command.do) {
      case 'push':
        for (const each of command.keys) {
          real.push(each, pushed)
          wanted.push(each, pushed++)
        }
        break
      case 'pop':
        for (let i = 0; i < command.times; i++) expect(real.pop()).toBe(wanted.pop())
        break
      case 'remove': {
        const matches = (item: number): boolean => item % command.every === 0
        expect(inOrder(real.remove(matches))).toEqual(inOrder(wanted.remove(matches)))
        break
      }
      case 'drain':
        expect(inOrder(real.drain())).toEqual(inOrder(wanted.drain()))
    }
    look()
  }
  while (wanted.size() > 0) expect(real.pop()).toBe(wanted.pop())
  expect([real.size(), real.peekKey(), real.peek(), real.pop()]).toEqual([0, undefined, undefined, undefined])
}

describe('heap', () => {
  it('hands out what a sorted array hands out', () => {
    const reached = { grown: 0, twice: 0, emptied: 0, drained: 0, removed: 0 }
    fc.assert(
      fc.property(commands, (all) => {
        const wanted = model()
        compare(heap<number>(), wanted, all)
        if (wanted.most() > 64) reached.grown++
        if (wanted.most() > 128) reached.twice++
        if (wanted.emptied() > 1) reached.emptied++
        if (all.some((command) => command.do === 'remove' && command.every > 1)) reached.removed++
        if (all.some((command, i) => command.do === 'drain' && all[i + 1]?.do === 'push')) reached.drained++
      }),
      { numRuns: 1_000, endOnFailure: true },
    )
    expect(reached.grown).toBeGreaterThan(500)
    expect(reached.twice).toBeGreaterThan(500)
    expect(reached.emptied).toBeGreaterThan(100)
    expect(reached.drained).toBeGreaterThan(100)
    expect(reached.removed).toBeGreaterThan(300)
  })

  it.each([
    [
      'lets equal keys overtake',
      (inner: Heap<number>) => ({
        ...inner,
        push: (at: number, n: number) => inner.push(at, at === 3 ? n ^ 1 : n),
      }),
    ],
    [
      'loses the 65th',
      (inner: Heap<number>) => ({
        ...inner,
        push: (at: number, n: number) => {
          if (inner.size() !== 64) inner.push(at, n)
        },
      }),
    ],
    [
      'pops the wrong end once it has grown',
      (inner: Heap<number>) => ({
        ...inner,
        pop: () => (inner.size() > 128 ? (inner.pop(), inner.pop()) : inner.pop()),
      }),
    ],
    [
      'forgets the order of equal keys when some are removed',
      (inner: Heap<number>) => ({
        ...inner,
        remove: (matches: (n: number) => boolean) => {
          const gone = inner.remove(matches)
          const top = inner.peekKey()
          const first = inner.pop()
          if (top !== undefined && first !== undefined) inner.push(top, first)
          return gone
        },
      }),
    ],
  ])('would be caught if it %s', (_name, spoil) => {
    const law = fc.property(commands, (all) => {
      compare(spoil(heap<number>()), model(), all)
    })
    expect(fc.check(law, { numRuns: 1_000, endOnFailure: true }).failed).toBe(true)
  })

  it('keeps the order of equal keys after it was empty', () => {
    const queue = heap<string>()
    queue.push(1, 'a')
    queue.pop()
    for (const item of ['b', 'c', 'd']) queue.push(7, item)
    expect([queue.pop(), queue.pop(), queue.pop()]).toEqual(['b', 'c', 'd'])
  })

  it('stays as it was when what is asked of each throws', () => {
    const queue = heap<string>()
    for (const item of ['a', 'b']) queue.push(1, item)
    const boom = (): never => {
      throw new Error('boom')
    }
    expect(() => queue.remove(boom)).toThrow('boom')
    expect([queue.pop(), queue.pop()]).toEqual(['a', 'b'])
  })

  it('holds a hundred thousand', () => {
    const queue = heap<number>()
    const spread = (i: number): number => (i * 7_919) % 100_003
    for (let i = 0; i < 100_000; i++) queue.push(spread(i), spread(i))
    let last = -1
    let ordered = 0
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      if (next > last) ordered++
      last = next
    }
    expect([ordered, queue.size()]).toEqual([100_000, 0])
  })
})
