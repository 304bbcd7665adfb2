import * as fc from 'fast-check'
import { it } from 'vitest'
import { heap } from '../../src/core/heap.ts'
import { same, forAll } from '../support/check.ts'

const times = fc.constantFrom(1_767_225_600_000, 1_767_225_600_001, Infinity)
const key = fc.oneof(fc.nat({ max: 5 }), fc.integer({ min: -1_000, max: 1_000 }), times)
const manyKeys = fc.array(key, { minLength: 40, maxLength: 400, size: 'max' })
const command = fc.oneof(fc.array(key, { maxLength: 5 }), manyKeys, fc.nat({ max: 5 }), fc.nat({ max: 500 }))

it('hands out the lowest key first, and equal keys in the order in which they came; drain empties it', () =>
  forAll(fc.array(command, { maxLength: 20, size: 'max' }), (all) => {
    const real = heap<number>()
    let held: ReadonlyArray<{ readonly key: number; readonly item: number }> = []
    let pushed = 0
    for (let round = 0; round < 2; round++) {
      for (const each of all) {
        const added = (typeof each === 'number' ? [] : each).map((one) => ({ key: one, item: pushed++ }))
        for (const { key: one, item } of added) real.push(one, item)
        // Sorting keeps the order of equal keys.
        held = [...held, ...added].toSorted((a, b) => (a.key === b.key ? 0 : a.key - b.key))
        const count = typeof each === 'number' ? each : 0
        const until = count % 2 === 0 ? Infinity : 2
        const taken = real.take(until, count)
        const wanted = held.slice(0, count).flatMap((one) => (one.key <= until ? one.item : []))
        same(taken, wanted)
        held = held.slice(taken.length)
        same([real.size(), real.peekKey(), real.peek()], [held.length, held[0]?.key, held[0]?.item])
      }
      same(new Set(real.drain()), new Set(held.map(({ item }) => item)))
      same([real.size(), real.peekKey(), real.peek(), real.pop()], [0, undefined, undefined, undefined])
      held = []
    }
  }))
