import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { linkedList, type Link } from '../../src/core/linkedList.ts'
import { forAll } from '../support/check.ts'

interface Item extends Link<Item> {
  readonly id: number
}

const item = (id: number): Item => ({ id, older: undefined, newer: undefined })

test('linkedList answers as an array does, and removed items hold no links', () => {
  const anyCommand = fc.oneof(fc.constant('push' as const), fc.nat(30), fc.constant('shift' as const))
  forAll(fc.array(anyCommand, { maxLength: 60, size: 'max' }), (all) => {
    const queue = linkedList<Item>()
    const items: Item[] = []
    let model: Item[] = []
    for (const command of all) {
      const target = command === 'shift' ? model[0] : typeof command === 'number' ? items[command] : undefined
      if (command === 'push') {
        const next = item(items.length)
        items.push(next)
        model.push(next)
        queue.push(next)
      } else if (target !== undefined) {
        expect(queue.remove(target)).toBe(model.includes(target))
        model = model.filter((each) => each !== target)
      }
      expect([queue.size(), queue.oldest()?.id]).toEqual([model.length, model[0]?.id])
      for (const left of items.filter((each) => !model.includes(each)))
        expect([left.older, left.newer]).toEqual([undefined, undefined])
    }
    const order: number[] = []
    for (let each = queue.oldest(); each !== undefined; each = each.newer) order.push(each.id)
    expect(order).toEqual(model.map((each) => each.id))
    expect(queue.drain().map((each) => each.id)).toEqual(order)
    expect([queue.size(), queue.oldest()]).toEqual([0, undefined])
    for (const each of items) expect([each.older, each.newer]).toEqual([undefined, undefined])
  })
})
