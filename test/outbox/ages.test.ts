import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { ages } from '../../src/outbox/ages.ts'

it('tells the oldest that has not ended, whatever the order of ends and new ids', () =>
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom('accept', 'end', 'rename'), fc.nat(8))), (steps) => {
      const subject = ages()
      let model: ReadonlyArray<readonly [id: string, at: number]> = []
      steps.forEach(([step, n], at) => {
        const [id, other] = [`a${n}`, `b${n}`]
        if (step === 'accept') {
          subject.accepted(id, at)
          if (!model.some(([known]) => known === id)) model = [...model, [id, at]]
        } else if (step === 'end') {
          subject.ended(id)
          subject.ended(other)
          model = model.filter(([known]) => known !== id && known !== other)
        } else if (!model.some(([known]) => known === other)) {
          subject.renamed(id, other)
          model = model.map((each) => (each[0] === id ? [other, each[1]] : each))
        }
        expect(subject.oldest()).toBe(model[0]?.[1])
      })
    }),
  ))
