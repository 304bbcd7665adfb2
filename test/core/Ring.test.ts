import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { queue } from '../../src/core/queue.ts'
import type { Queue } from '../../src/core/queue.ts'

/** What is done to a ring. */
type Command =
  | { readonly do: 'push'; readonly count: number }
  | { readonly do: 'shift'; readonly count: number }
  | { readonly do: 'drain' }

/** Some counts beside the sizes at which a ring changes: 16 slots at first, and more than 1,024 are let go when empty. */
const count = fc.oneof(fc.nat({ max: 20 }), fc.constantFrom(15, 16, 17, 1_024, 1_025), fc.nat({ max: 3_000 }))

const commands: fc.Arbitrary<ReadonlyArray<Command>> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('push' as const), count }) },
    { weight: 5, arbitrary: fc.record({ do: fc.constant('shift' as const), count }) },
    { weight: 1, arbitrary: fc.constant({ do: 'drain' as const }) },
  ),
  { maxLength: 20, size: 'max' },
)

interface Reached {
  /** More than 16 at once, while the head was not at the first slot. */
  wrapped: boolean
  /** Emptied by shifts after it held more than 1,024, and used again. */
  shrunk: boolean
  drained: boolean
}

/** Does the same to a ring and to an array, and looks whether they agree after each command. */
const compare = (real: Queue<number>, all: ReadonlyArray<Command>): Reached => {
  const reached: Reached = { wrapped: false, shrunk: false, drained: false }
  const held: number[] = []
  let pushed = 0
  let shifted = 0
  let most = 0
  let letGo = false
  for (const command of all) {
    switch (command.do) {
      case 'push':
        for (let i = 0; i < command.count; i++) {
          real.push(pushed)
          held.push(pushed++)
        }
        most = Math.max(most, held.length)
        if (held.length > 16 && shifted % 16 !== 0) reached.wrapped = true
        if (letGo && held.length > 0) reached.shrunk = true
        break
      case 'shift': {
        const wanted = held.splice(0, command.count)
        const found = Array.from({ length: command.count }, () => real.shift())
        expect(found.slice(0, wanted.length)).toEqual(wanted)
        expect(found.slice(wanted.length).every((item) => item === undefined)).toBe(true)
        shifted += wanted.length
        if (wanted.length > 0 && held.length === 0 && most > 1_024) letGo = true
        break
      }
      case 'drain':
        if (held.length > 0) reached.drained = true
        expect(real.drain()).toEqual(held.splice(0))
    }
    expect([real.size(), real.peek()]).toEqual([held.length, held[0]])
  }
  expect(real.drain()).toEqual(held)
  expect([real.size(), real.peek(), real.shift()]).toEqual([0, undefined, undefined])
  return reached
}

describe('ring', () => {
  it('hands out what an array hands out', () => {
    const reached = { wrapped: 0, shrunk: 0, drained: 0 }
    fc.assert(
      fc.property(commands, (all) => {
        const { wrapped, shrunk, drained } = compare(queue<number>(), all)
        if (wrapped) reached.wrapped++
        if (shrunk) reached.shrunk++
        if (drained) reached.drained++
      }),
      { numRuns: 1_000, endOnFailure: true },
    )
    expect(reached.wrapped).toBeGreaterThan(300)
    expect(reached.shrunk).toBeGreaterThan(100)
    expect(reached.drained).toBeGreaterThan(100)
  })

  it.each([
    [
      'loses what comes as the 17th',
      (inner: Queue<number>) => ({ ...inner, push: (n: number) => inner.size() === 16 || inner.push(n) }),
    ],
    [
      'forgets what it held beyond 1,024',
      (inner: Queue<number>) => ({
        ...inner,
        shift: () => (inner.size() > 1_024 ? (inner.shift(), inner.shift()) : inner.shift()),
      }),
    ],
    [
      'drains in the wrong order',
      (inner: Queue<number>) => ({ ...inner, drain: () => inner.drain().toReversed() }),
    ],
  ])('would be caught if it %s', (_name, spoil) => {
    const law = fc.property(commands, (all) => {
      compare(spoil(queue<number>()), all)
    })
    expect(fc.check(law, { numRuns: 1_000, endOnFailure: true }).failed).toBe(true)
  })

  it('can hold undefined and count it', () => {
    const line = queue<string | undefined>()
    line.push(undefined)
    expect([line.size(), line.shift(), line.size()]).toEqual([1, undefined, 0])
  })
})
