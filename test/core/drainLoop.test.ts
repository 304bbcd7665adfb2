import { expect, it } from 'vitest'
import { drainLoop } from '../../src/core/drainLoop.ts'

it('runs again after a call from within, and never inside itself', () => {
  const log: string[] = []
  let left = 3
  const loop = drainLoop(() => {
    log.push('begin')
    if (left-- > 0) loop()
    log.push('end')
  })
  loop()
  expect(log).toEqual(['begin', 'end', 'begin', 'end', 'begin', 'end', 'begin', 'end'])
})

it('runs at the next call after its work threw', () => {
  let calls = 0
  const loop = drainLoop(() => {
    if (calls++ === 0) throw new RangeError('Maximum call stack size exceeded')
  })
  expect(() => loop()).toThrow(RangeError)
  loop()
  expect(calls).toBe(2)
})
