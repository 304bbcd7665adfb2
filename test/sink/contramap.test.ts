import { right } from 'fp-ts/lib/Either.js'
import { expect, expectTypeOf, test } from 'vitest'
import { contramap } from '../../src/sink/contramap.ts'
import { onlyAttempt, type Sink } from '../../src/sink/sink.ts'
import { sink } from '../../src/sink/fromFunction.ts'

test('translates each item on its way in, and a throw is a defect of that delivery alone', () => {
  const seen: string[] = []
  const texts = sink('texts', (text: string) => {
    seen.push(text)
    return right({ sink: 'texts' })
  })
  const numbers = contramap((n: number) => {
    if (n < 0) throw new Error('negative')
    return `number ${n}`
  })(texts)
  expectTypeOf(numbers).toEqualTypeOf<Sink<number>>()
  const defects: unknown[] = []
  for (const n of [1, -1, 2])
    numbers.deliver(n, onlyAttempt).subscribe({ error: (defect) => defects.push(defect) })
  expect(seen).toEqual(['number 1', 'number 2'])
  expect(defects).toEqual([new Error('negative')])
})
