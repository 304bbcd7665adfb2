import { createSecretKey } from 'node:crypto'
import * as fc from 'fast-check'
import type { Either } from 'fp-ts/lib/Either.js'
import { format, inspect } from 'node:util'
import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Fault } from '../../src/core/refusal.ts'
import type { Payload, Signer } from '../../src/event/payload.ts'
import { digest, secretFrom, secretOrThrow, type Secret } from '../../src/signing/secret.ts'
import { sign, signerOf } from '../../src/signing/sign.ts'
import { verifyParsed, verifyRaw, type Mismatch, type Verified } from '../../src/signing/verify.ts'
import { hostile } from '../fixtures/hostile.ts'

const secretOf = (text: string): Secret => {
  const made = secretFrom(text)
  if (made._tag === 'Left') throw new Error(made.left.message)
  return made.right
}

/** Text that is found nowhere by chance, and that no printer escapes. */
const secretText = fc
  .string({ unit: fc.constantFrom('a', 'B', '7', '-'), maxLength: 20 })
  .map((middle) => `Zq7${middle}Wk3`)

const thrown = (call: () => unknown): unknown => {
  try {
    return call()
  } catch (error) {
    return error
  }
}

/** Every way in which a value gets into a log. */
const printed = (value: unknown): string =>
  [
    inspect(value, { depth: null, showHidden: true, showProxy: true, getters: true }),
    inspect([value, { value }, new Map([[value, value]]), new Error('e', { cause: value })], {
      depth: null,
      showHidden: true,
    }),
    format('%s %o %O %j %d', value, value, value, value, value),
    JSON.stringify([value, { value }]),
    String(value),
    Object.entries(value as object).join(),
    Reflect.ownKeys(value as object).join(),
    inspect({ ...(value as object) }, { showHidden: true }),
    inspect(Object.getOwnPropertyDescriptors(value), { depth: null, showHidden: true }),
  ].join('\n')

describe('a secret', () => {
  it('is in nothing that can be printed', () =>
    fc.assert(
      fc.property(secretText, (secret) => {
        const known = secretOf(secret)
        const payload: Payload<string> = {
          id: 'm',
          items: ['i'],
          text: '{}',
          byteLength: 2,
          signature: sign(known, '{}'),
        }
        const seen = [
          printed(known),
          printed(signerOf(known)),
          printed(payload),
          inspect(secretFrom(secret), { depth: null, showHidden: true }),
          inspect(verifyRaw(known, '{}', sign('other', '{}')), { depth: null, showHidden: true }),
        ].join('\n')
        expect(seen).not.toContain(secret)
        expect(seen).not.toContain(Buffer.from(secret).toString('hex'))
        expect(seen).not.toContain(Buffer.from(secret).toString('base64'))
      }),
    ))

  it('would be seen if it were there', () => expect(printed({ leak: 'Zq7Wk3' })).toContain('Zq7Wk3'))

  it('is in no error about a wrong one', () =>
    fc.assert(
      fc.property(secretText, fc.constantFrom(' ', '\n', '\ud800 '), (secret, pad) => {
        const bad = secret + pad
        const errors = [
          secretFrom(bad),
          thrown(() => sign(bad, '{}')),
          thrown(() => signerOf(bad)),
          verifyRaw(bad, '{}', 'a'.repeat(40)),
        ]
        for (const error of errors)
          expect(inspect(error, { depth: null, showHidden: true })).not.toContain(secret)
      }),
    ))

  it('shows itself as [secret]', () => {
    const secret = secretOf('correct horse')
    expect(String(secret)).toBe('[secret]')
    expect(JSON.stringify({ secret })).toBe('{"secret":"[secret]"}')
    expect(inspect({ secret })).toBe('{ secret: [secret] }')
    expect(Object.keys(secret)).toEqual([])
    expect(Object.isFrozen(secret)).toBe(true)
  })

  it('cannot be copied: a copy is no secret', () => {
    const secret = secretOf('correct horse')
    const copy = { ...secret }
    expect(() => signerOf(copy)).toThrow(TypeError)
    expect(verifyRaw(copy, '{}', sign(secret, '{}'))).toMatchObject({ left: { reason: 'badSecret' } })
    expect(verifyRaw(structuredClone({}) as Secret, '{}', sign(secret, '{}'))._tag).toBe('Left')
  })

  it.each([
    ['', 'must not be empty'],
    [' x', /white space/],
    ['x ', /white space/],
    ['x\n', /white space/],
    ['x\r\n', /white space/],
    ['\ufeffx', /white space/],
    ['x\ud800', /surrogate/],
    [undefined, 'must be a string'],
    [null, 'must be a string'],
    [42, 'must be a string'],
    [['x'], 'must be a string'],
    [Buffer.from('x'), 'must be a string'],
  ])('is refused: %j', (input, message) =>
    expect(secretFrom(input)).toEqual({
      _tag: 'Left',
      left: { path: '', message: expect.stringMatching(message) as string },
    }),
  )

  it.each(['x', 'two words', 'tab\tinside', 'é', 'e\u0301', '日本', '😀', '0'])(
    'is taken as it is: %s',
    (input) => expect(secretFrom(input)._tag).toBe('Right'),
  )

  it('is its bytes: two ways to write an accent are two secrets', () =>
    expect(sign('caf\u00e9', '{}')).not.toBe(sign('cafe\u0301', '{}')))
})

describe('signerOf', () =>
  it('gives one secret one signer, so that work can be shared by identity', () => {
    const secret = secretOf('a')
    expect(signerOf(secret)).toBe(signerOf(secret))
    expect(signerOf(secretOf('a'))).not.toBe(signerOf(secret))
    expect(signerOf('a')('{}')).toBe(sign(secret, '{}'))
  }))

describe('the types', () => {
  it('let a secret be made by secretFrom alone', () => {
    expectTypeOf(secretFrom).toEqualTypeOf<(text: unknown) => Either<Fault, Secret>>()
    expectTypeOf(signerOf('a')).toEqualTypeOf<Signer>()
    expectTypeOf(secretOrThrow('a')).toEqualTypeOf<Secret>()
    // @ts-expect-error an object that looks like nothing is no secret
    expect(() => signerOf({})).toThrow()
    // @ts-expect-error nothing in a secret can be read
    expect(secretOf('a').key).toBeUndefined()
  })
})

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
  it.each(vectors)('gives the digests of RFC 2202 (%#)', (key, data, expected) =>
    expect(digest(createSecretKey(key), data)).toBe(expected),
  )

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
  const parsedForm: Readonly<Record<number, string>> = {
    12: 'differs',
    14: 'agrees',
    25: 'cannotParse',
    30: 'cannotWrite',
  }
  const wires = hostile.flatMap(({ row, wire, ours }) =>
    wire === undefined
      ? []
      : [{ row, wire, ours, parsed: parsedForm[row] ?? (ours === wire ? 'agrees' : 'differs') }],
  )

  it.each(wires)('row $row: $wire verifies raw; written anew it $parsed', ({ wire, ours, parsed }) => {
    expect(verifyRaw('s', Buffer.from(wire), sign('s', wire))._tag).toBe('Right')
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
    if (ours === undefined) return
    expect(verifyRaw('s', Buffer.from(ours), sign('s', ours))._tag).toBe('Right')
    expect(verifyParsed('s', JSON.parse(ours), sign('s', ours))._tag).toBe('Right')
  })

  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  it.each([[{ n: 1n }], [cycle], [() => undefined], [Symbol('s')], [undefined]])('%s is no body', (value) =>
    expect(verifyParsed('s', value, sign('s', '{}'))).toMatchObject({ left: { reason: 'badBody' } }),
  )
})

const body = '{"type":"track","userId":"u1"}'
const explanationOf = (result: Either<Mismatch, unknown>): string =>
  result._tag === 'Left' ? result.left.explanation : 'verified'

describe('verifyRaw', () => {
  it('verifies bytes and text', () => {
    expect(verifyRaw('s', body, sign('s', body))).toEqual({
      _tag: 'Right',
      right: { _tag: 'Verified', secret: 0 },
    })
    expect(verifyRaw('s', Buffer.from(body), sign('s', body))._tag).toBe('Right')
    expect(verifyRaw('s', new Uint8Array(0), sign('s', ''))._tag).toBe('Right')
  })

  it('tells which secret it was while one replaces another', () =>
    expect(verifyRaw(['new', 'old'], body, sign('old', body))).toMatchObject({ right: { secret: 1 } }))

  it.each([
    [undefined, 'missing', /no signature/],
    ['', 'missing', /no signature/],
    ['a'.repeat(39), 'malformed', /39 characters/],
    ['A'.repeat(40), 'malformed', /upper-case/],
    ['z'.repeat(40), 'malformed', /other characters/],
    [`${'a'.repeat(40)}zz`, 'malformed', /42 characters/],
    [`${'a'.repeat(40)}, ${'a'.repeat(40)}`, 'malformed', /several/],
    [['a'.repeat(40)], 'malformed', /several/],
    ['a'.repeat(40), 'mismatch', /another body or another secret/],
  ])('answers %j with %s', (signature, reason, explanation) => {
    const result = verifyRaw('s', body, signature)
    expect(result).toMatchObject({ left: { _tag: 'Mismatch', reason } })
    expect(explanationOf(result)).toMatch(explanation)
  })

  it('says so when the body was written anew on the way', () => {
    const pretty = JSON.stringify(JSON.parse(body), null, 2)
    expect(explanationOf(verifyRaw('s', pretty, sign('s', body)))).toMatch(/re-serialised form does/)
    expect(explanationOf(verifyRaw('s', Buffer.from(pretty), sign('s', body)))).toMatch(
      /re-serialised form does/,
    )
    expect(explanationOf(verifyRaw('s', pretty, sign('other', body)))).not.toMatch(/re-serialised/)
    expect(explanationOf(verifyRaw('s', '{broken', sign('s', body)))).not.toMatch(/re-serialised/)
  })

  it('buys no stranger that work for a body longer than any webhook', () => {
    const long = JSON.stringify({ s: 'x'.repeat(64_000) })
    expect(explanationOf(verifyRaw('s', ` ${long}`, sign('s', long)))).not.toMatch(/re-serialised/)
  })

  it.each([{ type: 'track' }, undefined, null, 5, [1]])('says that %j is no raw body', (parsed) => {
    // @ts-expect-error a parsed body is not raw
    expect(verifyRaw('s', parsed, sign('s', body))).toMatchObject({ left: { reason: 'badBody' } })
  })

  it.each([
    ['', /must not be empty/],
    ['s\n', /white space/],
    [[], /no secret/],
    [['s', ''], /must not be empty/],
  ])('verifies nothing with the secret %j', (secrets, explanation) => {
    const result = verifyRaw(secrets, body, sign('s', body))
    expect(result).toMatchObject({ left: { reason: 'badSecret' } })
    expect(explanationOf(result)).toMatch(explanation)
  })

  it('has one type for both answers', () => {
    expectTypeOf(verifyRaw('s', body, '')).toEqualTypeOf<Either<Mismatch, Verified>>()
  })
})

const text = '{"type":"track","userId":"u1"}'

describe('verifyParsed', () => {
  it('verifies what a JSON parser made', () => {
    expect(verifyParsed('s', JSON.parse(text), sign('s', text))).toMatchObject({ right: { secret: 0 } })
    expect(verifyParsed(['new', 's'], JSON.parse(text), sign('s', text))).toMatchObject({
      right: { secret: 1 },
    })
  })

  it('notices one field more', () => {
    const changed = { ...(JSON.parse(text) as object), receivedAt: 1 }
    expect(verifyParsed('s', changed, sign('s', text))).toMatchObject({ left: { reason: 'mismatch' } })
  })

  it('says so when it gets what is not parsed', () => {
    for (const raw of [text, Buffer.from(text)])
      expect(verifyParsed('s', raw, sign('s', text))).toMatchObject({
        left: { reason: 'mismatch', explanation: expect.stringMatching(/use verifyRaw/) as string },
      })
    expect(verifyParsed('s', undefined, sign('s', text))).toMatchObject({
      left: { reason: 'badBody', explanation: expect.stringMatching(/body parser/) as string },
    })
  })

  it('does not throw where JSON.stringify does', () => {
    const throwing = {
      toJSON: () => {
        throw new Error('no')
      },
    }
    for (const body of [{ n: 1n }, throwing])
      expect(verifyParsed('s', body, sign('s', text))._tag).toBe('Left')
  })
})
