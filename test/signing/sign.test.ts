import { createSecretKey } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { digest } from '../../src/signing/secret.ts'
import { sign } from '../../src/signing/sign.ts'
import { verifyParsed, verifyRaw } from '../../src/signing/verify.ts'
import { trickyBodies, unwritable } from './bodies.ts'

/** RFC 2202, part 3: key, data, digest. */
const vectors = [
  [Buffer.alloc(20, 0x0b), 'Hi There', 'b617318655057264e28bc0b6fb378c8ef146be00'],
  [Buffer.from('Jefe'), 'what do ya want for nothing?', 'effcdf6ae5eb2fa2d27416d5f184df9c259a7c79'],
  [Buffer.alloc(20, 0xaa), Buffer.alloc(50, 0xdd), '125d7342b9ac11cd91a39af48aa17b4f63f175d3'],
  [
    Buffer.from(Array.from({ length: 25 }, (_, i) => i + 1)),
    Buffer.alloc(50, 0xcd),
    '4c9007f4026250c6bc8414f9bf50c86c2d7235da',
  ],
  [Buffer.alloc(20, 0x0c), 'Test With Truncation', '4c1a03424b55e07fe7f27be1d58bb9324a9a5a04'],
  [
    Buffer.alloc(80, 0xaa),
    'Test Using Larger Than Block-Size Key - Hash Key First',
    'aa4ae5e15272d00e95705637ce8a3b55ed402112',
  ],
  [
    Buffer.alloc(80, 0xaa),
    'Test Using Larger Than Block-Size Key and Larger Than One Block-Size Data',
    'e8e99d0f45237d786d6bbaa7965c7808bbff1a91',
  ],
] as const

describe('sign', () => {
  it.each(vectors)('gives the digests of RFC 2202 (%#)', (key, data, expected) => {
    expect(digest(createSecretKey(key), data)).toBe(expected)
  })

  it('gives them for keys that are text', () => {
    const text = String.fromCharCode(...Array.from({ length: 25 }, (_, i) => i + 1))
    expect(sign('Jefe', 'what do ya want for nothing?')).toBe('effcdf6ae5eb2fa2d27416d5f184df9c259a7c79')
    expect(sign(text, Buffer.alloc(50, 0xcd))).toBe('4c9007f4026250c6bc8414f9bf50c86c2d7235da')
  })

  it('throws for a wrong secret, and says what is wrong with it', () => {
    expect(() => sign('', '{}')).toThrow(new TypeError('the secret must not be empty'))
    expect(() => sign('secret\n', '{}')).toThrow(/white space/)
  })
})

describe('the tricky bodies', () => {
  it('are all there', () => {
    const rows = new Set(trickyBodies.map(({ row }) => row))
    expect([...rows]).toEqual(Array.from({ length: 31 }, (_, i) => i + 1))
  })

  it.each(trickyBodies)('row $row verifies raw, whoever wrote it: $wire', ({ wire }) => {
    expect(verifyRaw('s', Buffer.from(wire), sign('s', wire))._tag).toBe('Right')
  })

  it.each(trickyBodies)(
    'row $row $parsed when its parsed form is written anew: $wire',
    ({ wire, parsed }) => {
      const outcome = (): string => {
        try {
          const result = verifyParsed('s', JSON.parse(wire), sign('s', wire))
          if (result._tag === 'Right') return 'agrees'
          return result.left.reason === 'badBody' ? 'cannotWrite' : 'differs'
        } catch {
          return 'cannotParse'
        }
      }
      expect(outcome()).toBe(parsed)
    },
  )

  const ours = trickyBodies.flatMap(({ row, wire, ours: text }) =>
    text === undefined ? [] : [{ row, wire, text }],
  )

  it.each(ours)('row $row is sent as $text and then verifies both ways', ({ wire, text }) => {
    expect(JSON.stringify(JSON.parse(wire))).toBe(text)
    const signature = sign('s', text)
    expect(verifyRaw('s', Buffer.from(text), signature)._tag).toBe('Right')
    expect(verifyParsed('s', JSON.parse(text), signature)._tag).toBe('Right')
  })

  it.each(unwritable.map((value) => [value]))('row 31, %s, is no body', (value) => {
    expect(verifyParsed('s', value, sign('s', '{}'))).toMatchObject({ left: { reason: 'badBody' } })
  })
})
