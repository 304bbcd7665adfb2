import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { ages } from '../../src/outbox/ages.ts'
import { forAll } from '../support/check.ts'

const step = fc.constantFrom('accept', 'accept', 'end', 'rename', 'endOfAnother')

it('tells the oldest that has not ended, whatever the order of ends and new ids', () =>
  forAll(fc.array(fc.tuple(step, fc.nat(8)), { maxLength: 600, size: 'max' }), (steps) => {
    const subject = ages()
    let model: ReadonlyArray<readonly [id: string, at: number]> = []
    steps.forEach(([step, n], at) => {
      const id = model[n]?.[0]
      if (step === 'accept') {
        subject.accepted(`a${at}`, at)
        model = [...model, [`a${at}`, at]]
      } else if (step === 'endOfAnother') {
        subject.ended(`x${at}`)
      } else if (id !== undefined && step === 'end') {
        subject.ended(id)
        model = model.filter(([known]) => known !== id)
      } else if (id?.startsWith('a') === true) {
        subject.renamed(id, `b${at}`)
        model = model.map((each) => (each[0] === id ? [`b${at}`, each[1]] : each))
      }
      expect(subject.oldest()).toBe(model[0]?.[1])
    })
  }))

it('keeps no more notes than entries, while one waits and all others end', () => {
  const subject = ages()
  const used = (): number => process.memoryUsage().heapUsed
  const idle = ages()
  subject.accepted('first', 1)
  const before = used()
  for (let n = 0; n < 1_000_000; n++) {
    subject.accepted(`a${n}`, n)
    subject.renamed(`a${n}`, `b${n}`)
    subject.ended(`b${n}`)
    idle.renamed(`a${n}`, `b${n}`)
  }
  expect([subject.oldest(), idle.oldest()]).toEqual([1, undefined])
  expect(used() - before).toBeLessThan(60_000_000)
})
