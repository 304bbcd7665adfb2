import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { queue, serialQueue } from '../../src/core/queue.ts'
import { same, forAll } from '../support/check.ts'

/** Some counts beside the sizes at which the ring changes: 16 slots at first, and a smaller ring after more than 1,024. */
const count = fc.oneof(fc.nat({ max: 20 }), fc.constantFrom(15, 16, 17, 1_024, 1_025), fc.nat({ max: 3_000 }))
const command = fc.record({ do: fc.constantFrom('push', 'shift', 'shift', 'drain'), count })

it('queue hands out what an array hands out', () =>
  forAll(fc.array(command, { maxLength: 20, size: 'max' }), (all) => {
    const real = queue<number | undefined>()
    const held: Array<number | undefined> = []
    let pushed = 0
    for (const each of all) {
      if (each.do === 'drain') same(real.drain(each.count), held.splice(0, each.count))
      for (let n = 0; n < each.count; n++) {
        if (each.do === 'shift') same(real.shift(), held.shift())
        if (each.do !== 'push') continue
        const next = pushed++ % 3 === 0 ? undefined : pushed
        real.push(next)
        held.push(next)
      }
      same([real.size(), real.peek()], [held.length, held[0]])
    }
    same(real.drain(), held)
    same([real.size(), real.peek(), real.shift()], [0, undefined, undefined])
  }))

it('serialQueue runs a task that is added within a task after it', () => {
  const log: string[] = []
  const { take, busy } = serialQueue()
  take(() => {
    take((name: string) => log.push(name), 'second')
    log.push(`first, busy ${String(busy())}`)
  }, undefined)
  expect([log, busy()]).toEqual([['first, busy true', 'second'], false])
})
