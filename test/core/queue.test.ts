import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { queue, serialQueue, type Queue } from '../../src/core/queue.ts'
import { same } from '../support/check.ts'

type Command =
  | { readonly do: 'push'; readonly count: number }
  | { readonly do: 'shift'; readonly count: number }
  | { readonly do: 'drain' }

/** Some counts beside the sizes at which the ring changes: 16 slots at first, and a smaller ring after more than 1,024. */
const count = fc.oneof(fc.nat({ max: 20 }), fc.constantFrom(15, 16, 17, 1_024, 1_025), fc.nat({ max: 3_000 }))

const commands: fc.Arbitrary<ReadonlyArray<Command>> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('push' as const), count }) },
    { weight: 5, arbitrary: fc.record({ do: fc.constant('shift' as const), count }) },
    { weight: 1, arbitrary: fc.constant({ do: 'drain' as const }) },
  ),
  { maxLength: 20, size: 'max' },
)

const compare = (real: Queue<number>, all: ReadonlyArray<Command>): void => {
  const held: number[] = []
  let pushed = 0
  for (const command of all) {
    switch (command.do) {
      case 'push':
        for (let i = 0; i < command.count; i++) {
          real.push(pushed)
          held.push(pushed++)
        }
        break
      case 'shift': {
        const wanted = held.splice(0, command.count)
        const found = Array.from({ length: command.count }, () => real.shift())
        same(
          found.filter((item) => item !== undefined),
          wanted,
        )
        break
      }
      case 'drain':
        same(real.drain(), held.splice(0))
    }
    same([real.size(), real.peek()], [held.length, held[0]])
  }
  same(real.drain(), held)
  same([real.size(), real.peek(), real.shift()], [0, undefined, undefined])
}

describe('queue', () => {
  it('hands out what an array hands out', () =>
    fc.assert(fc.property(commands, (all) => compare(queue<number>(), all))))

  it('can hold undefined and count it', () => {
    const line = queue<string | undefined>()
    line.push(undefined)
    expect([line.size(), line.shift(), line.size()]).toEqual([1, undefined, 0])
  })
})

describe('serialQueue', () =>
  it('runs a task that is added within a task after it', () => {
    const log: string[] = []
    const { take, busy } = serialQueue()
    take(() => {
      take((name: string) => log.push(name), 'second')
      log.push(`first, busy ${String(busy())}`)
    }, undefined)
    expect([log, busy()]).toEqual([['first, busy true', 'second'], false])
  }))
