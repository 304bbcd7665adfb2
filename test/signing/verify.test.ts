import type { Either } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { signatureOf, verifyParsed, verifyRaw, type Mismatch, type Secrets } from '../../src/signing/index.ts'

describe('bodies at the limit of the stack, and what is no body', () => {
  it('one of 6,000 levels verifies raw; parsed it verifies or is no body, as deep as the stack is', () => {
    const deep = '['.repeat(6_000) + ']'.repeat(6_000)
    expect(verifyRaw('s', deep, signatureOf('s', deep))._tag).toBe('Right')
    const parsed = verifyParsed('s', JSON.parse(deep), signatureOf('s', deep))
    const view = new DataView(new TextEncoder().encode(deep).buffer) as unknown as Uint8Array
    expect(verifyRaw('s', view, signatureOf('s', deep))._tag).toBe('Right')
    expect(['Right', 'badBody']).toContain(parsed._tag === 'Right' ? 'Right' : parsed.left.reason)
  })

  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  it.each([[{ n: 1n }], [cycle], [() => undefined], [Symbol('s')], [undefined]])('%s is no body', (value) => {
    const said: unknown = value === undefined ? expect.stringMatching(/body parser/) : expect.any(String)
    const left = { reason: 'badBody', explanation: said }
    expect(verifyParsed('s', value, signatureOf('s', '{}'))).toMatchObject({ left })
  })
})

const body = '{"type":"track","userId":"u1"}'
const bytes = new TextEncoder().encode(body)
it.each([body, bytes, Buffer.from(body), bytes.buffer])('verifyParsed: %o is not parsed', (given) => {
  const explanation = expect.stringContaining('verifyRaw') as unknown
  const answer = verifyParsed('s', given, signatureOf('s', body))
  expect(answer).toMatchObject({ left: { reason: 'badBody', status: 500, explanation } })
})

it('verifyParsed takes a text that was parsed, and answers 401 to one of another secret', () => {
  expect(verifyParsed('s', body, signatureOf('s', JSON.stringify(body)))._tag).toBe('Right')
  expect(verifyParsed('t', body, signatureOf('s', body))).toMatchObject({ left: { status: 401 } })
})

const explanationOf = (result: Either<Mismatch, unknown>): string =>
  result._tag === 'Left' ? result.left.explanation : 'verified'

describe('verifyRaw', () => {
  it.each<[Secrets, unknown, string, number, RegExp]>([
    ['s', undefined, 'missing', 401, /no signature/],
    ['s', '', 'missing', 401, /no signature/],
    ['s', 'a'.repeat(39), 'malformed', 401, /40 lower-case/],
    ['s', 'a'.repeat(40), 'mismatch', 401, /another body or another secret/],
    [[], 'a'.repeat(40), 'badSecret', 500, /no secret/],
    [['s', ''], 'a'.repeat(40), 'badSecret', 500, /secret must not be empty/],
  ])('with the secret %j answers %j with %s and %d', (secrets, signature, reason, status, why) => {
    const result = verifyRaw(secrets, body, signature)
    expect(result).toMatchObject({ left: { _tag: 'Mismatch', reason, status } })
    expect(explanationOf(result)).toMatch(why)
  })

  it('says so when the body was written anew on the way, unless it is longer than any webhook', () => {
    const pretty = JSON.stringify(JSON.parse(body), null, 2)
    const explained = (size: number): string => {
      const long = JSON.stringify({ s: 'x'.repeat(size) })
      return explanationOf(verifyRaw('s', ` ${long}`, signatureOf('s', long)))
    }
    const anew = verifyRaw('s', Buffer.from(pretty), signatureOf('s', body))
    expect(explanationOf(anew)).toMatch(/re-serialised form does/)
    expect(explanationOf(verifyRaw('s', pretty, signatureOf('other', body)))).not.toMatch(/re-serialised/)
    expect(explained(63_991)).toMatch(/re-serialised/)
    expect(explained(63_992)).not.toMatch(/re-serialised/)
  })

  it.each([{ type: 'track' }, undefined, null, 5, [1]])('says that %j is no raw body', (parsed) => {
    const explanation = expect.stringMatching(/neither bytes nor text/) as string
    // @ts-expect-error a parsed body is not raw
    const answer = verifyRaw('s', parsed, signatureOf('s', body))
    expect(answer).toMatchObject({ left: { reason: 'badBody', explanation } })
  })
})
