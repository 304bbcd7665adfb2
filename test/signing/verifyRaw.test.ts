import type { Either } from 'fp-ts/lib/Either.js'
import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Mismatch, Verified } from '../../src/signing/verify.ts'
import { sign } from '../../src/signing/sign.ts'
import { verifyRaw } from '../../src/signing/verify.ts'

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

  it('tells which secret it was while one replaces another', () => {
    expect(verifyRaw(['new', 'old'], body, sign('old', body))).toMatchObject({ right: { secret: 1 } })
  })

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
