import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { lookup } from '../../src/core/lookup.ts'

const key = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'toString', '', '1', '10', '2'),
  fc.string({ maxLength: 3 }),
)
const command = fc.oneof(
  fc.record({ do: fc.constant('set' as const), key, value: fc.nat() }),
  fc.record({ do: fc.constant('delete' as const), key, value: fc.nat() }),
)

it('does what a Map does, for every string as a key', () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60, size: 'max' }), (commands) => {
      const own = lookup<number>()
      const model = new Map<string, number>()
      for (const each of commands) {
        if (each.do === 'set') {
          own.set(each.key, each.value)
          model.set(each.key, each.value)
        } else {
          own.delete(each.key)
          model.delete(each.key)
        }
        expect(own.get(each.key)).toBe(model.get(each.key))
        expect(own.size()).toBe(model.size)
      }
      const ascending = (all: Iterable<number>) => [...all].sort((a, b) => a - b)
      expect(ascending(own.values())).toEqual(ascending(model.values()))
    }),
  )
})

it('keeps the order in which the keys were set', () => {
  const own = lookup<number>()
  for (const [at, each] of ['b', 'a', 'c'].entries()) own.set(each, at)
  own.delete('a')
  own.set('a', 3)
  expect(own.values()).toEqual([0, 2, 3])
})
