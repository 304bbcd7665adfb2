import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sign } from '../../src/signing/sign.ts'
import { verifyParsed, verifyRaw } from '../../src/signing/verify.ts'
import { jsonText, secretText, signingLaws } from '../laws/signing.ts'
import { mutants } from '../mutants/signing.ts'

describe('signing', () => {
  it.each(signingLaws({ sign, verifyRaw, verifyParsed }))('keeps $id', ({ check }) => {
    check()
  })

  it.each(mutants)('would be caught by $law if it $name', ({ law, signing }) => {
    const laws = signingLaws(signing).filter(({ id }) => id.startsWith(`${law} `))
    expect(laws.some(({ fails }) => fails())).toBe(true)
  })
})

describe('what the laws ask with', () => {
  const share = <T>(arbitrary: fc.Arbitrary<T>, holds: (value: T) => boolean): number =>
    fc.sample(arbitrary, { numRuns: 1_000, seed: 1 }).filter(holds).length / 1_000

  it('has secrets of one letter, about a block and over a block', () => {
    const bytes = (text: string): number => Buffer.byteLength(text)
    expect(share(secretText, (text) => bytes(text) === 1)).toBeGreaterThan(0.03)
    expect(share(secretText, (text) => Math.abs(bytes(text) - 64) <= 1)).toBeGreaterThan(0.1)
    expect(share(secretText, (text) => bytes(text) > 65)).toBeGreaterThan(0.1)
  })

  it('has bodies that other senders would write another way', () => {
    expect(share(jsonText, (text) => text.includes('"2":'))).toBeGreaterThan(0.05)
    expect(share(jsonText, (text) => text.includes('\\ud800'))).toBeGreaterThan(0.02)
    expect(share(jsonText, (text) => text.includes('e-7'))).toBeGreaterThan(0.02)
    expect(share(jsonText, (text) => text.includes('__proto__'))).toBeGreaterThan(0.02)
  })
})
