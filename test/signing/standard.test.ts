import * as fc from 'fast-check'
import type { Either } from 'fp-ts/lib/Either.js'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { valueOr } from '../../src/core/either.ts'
import { signatureOf, standardHeadersOf, verifyRequest } from '../../src/signing/index.ts'
import type { Mismatch, VerifiedRequest, VerifyKeys } from '../../src/signing/index.ts'
import { standardSecretFrom } from '../../src/signing/standard.ts'
import { runs } from '../support/runs.ts'

const secretOf = (key: Uint8Array): string => `whsec_${Buffer.from(key).toString('base64')}`
const [now, other, old] = [24, 64, 40].map((size) => secretOf(Buffer.alloc(size, size)))
if (now === undefined || other === undefined || old === undefined) throw new Error('no secrets')

const NOW = 1_700_000_000_123
const late = () => NOW + 301_000
const body = '{"type":"track","userId":"ü1"}'
const both = { ...standardHeadersOf(now, 'm1', body, NOW), 'x-signature': signatureOf('s', body) }
const without = (left: string) => Object.fromEntries(Object.entries(both).filter(([name]) => name !== left))

const verified = (keys: VerifyKeys, headers: Readonly<Record<string, string>> = both, text: string = body) =>
  verifyRequest({ now: () => NOW, ...keys }, new Request('http://a', { method: 'POST', headers, body: text }))

const asText = (answer: Either<Mismatch, VerifiedRequest>): string =>
  answer._tag === 'Left' ? answer.left.reason : `${answer.right.by} ${String(answer.right.secret)}`

/** The package reads the time itself. */
const at = (millis: number): void => {
  vi.useFakeTimers({ now: millis, toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
}

const message = fc.record({
  key: fc.uint8Array({ minLength: 24, maxLength: 64 }),
  id: fc.stringMatching(/^[\x21-\x7e]{1,40}$/),
  body: fc.string({ unit: 'binary' }),
  millis: fc.integer({ min: 2e11, max: 4e12 }),
  later: fc.integer({ min: -310_000, max: 310_000 }),
})

const accepts = (secret: string, text: string, headers: Record<string, string>): boolean =>
  valueOr(undefined, () => new Webhook(secret).verify(JSON.stringify(text), headers)) !== undefined

it('the package standardwebhooks takes what headrace signs, and headrace what it signs, and both refuse the same', async () => {
  at(NOW)
  const property = fc.asyncProperty(message, async ({ key, id, body: given, millis, later }) => {
    const [secret, text] = [secretOf(key), JSON.stringify(given)]
    const ours = standardHeadersOf([other, secret], id, text, millis)
    vi.setSystemTime(millis + later)
    const theirs = { ...ours, 'webhook-signature': new Webhook(secret).sign(id, new Date(millis), text) }
    expect(ours['webhook-signature'].split(' ')[1]).toBe(theirs['webhook-signature'])
    const expected = accepts(secret, given, ours)
    expect(accepts(secret, given, theirs)).toBe(expected)
    for (const headers of [ours, theirs]) {
      const answer = await verified({ standardSecrets: [old, secret], now: Date.now }, headers, text)
      expect(asText(answer)).toBe(expected ? 'webhook-signature 1' : 'stale')
    }
    expect(accepts(secret, `${given} `, ours)).toBe(false)
  })
  await fc.assert(property, { numRuns: runs() })
})

describe('verifyRequest with standard secrets', () => {
  const standardSecrets = [old, now]
  const all: VerifyKeys = { secrets: 's', standardSecrets }
  const migrating: VerifyKeys = { ...all, migrating: true }
  const stripped = without('webhook-signature')
  const withOther = `v1a,x ${both['webhook-signature']}`
  const longer = `${both['webhook-signature']}= x${both['webhook-signature']}`

  it.each<[string, VerifyKeys, Parameters<typeof verified>[1], string]>([
    ['takes the new signature', { standardSecrets: now }, both, 'webhook-signature 0'],
    ['takes it before X-Signature', { ...all, tolerance: 0 }, both, 'webhook-signature 1'],
    ['refuses X-Signature alone: the three headers were stripped', all, stripped, 'missing'],
    ['takes it while migrating', migrating, stripped, 'X-Signature 0'],
    ['judges by the new one also while migrating', { ...migrating, now: late }, both, 'stale'],
    ['while migrating too an empty one counts', migrating, { ...both, 'webhook-signature': '' }, 'missing'],
    ['needs secrets to migrate', { standardSecrets, migrating: true }, stripped, 'missing'],
    ['needs the id', all, without('webhook-id'), 'missing'],
    ['needs the time', all, without('webhook-timestamp'), 'missing'],
    ['refuses a changed id', all, { ...both, 'webhook-id': 'm2' }, 'mismatch'],
    ['refuses a changed time', all, { ...both, 'webhook-timestamp': '1700000001' }, 'mismatch'],
    ['refuses a time that is none', all, { ...both, 'webhook-timestamp': '1e9' }, 'malformed'],
    ['refuses two times', all, { ...both, 'webhook-timestamp': '1700000000, 1700000000' }, 'malformed'],
    ['refuses other versions only', all, { ...both, 'webhook-signature': 'v2,abc v1a,abc' }, 'malformed'],
    ['refuses a longer signature', all, { ...both, 'webhook-signature': longer }, 'malformed'],
    ['reads past them', all, { ...both, 'webhook-signature': withOther }, 'webhook-signature 1'],
    ['refuses other secrets', { standardSecrets: other }, both, 'mismatch'],
    ['takes 300 s', { ...all, now: () => NOW + 300_000 }, both, 'webhook-signature 1'],
    ['refuses 301 s', { ...all, now: () => NOW + 301_000 }, both, 'stale'],
    ['refuses 301 s ahead', { ...all, now: () => NOW - 301_000 }, both, 'stale'],
    ['takes another tolerance', { ...all, tolerance: 301_000, now: late }, both, 'webhook-signature 1'],
    ['refuses without a secret', { standardSecrets: [] }, both, 'badSecret'],
    ['verifies X-Signature with secrets alone', { secrets: ['t', 's'] }, both, 'X-Signature 1'],
  ])('%s', async (_, keys, headers, expected) => expect(asText(await verified(keys, headers))).toBe(expected))

  it('refuses another body, and answers body and id of a right one', async () => {
    expect(asText(await verified(all, both, `${body} `))).toBe('mismatch')
    expect(await verified(all)).toMatchObject({ right: { text: body, id: 'm1', secret: 1 } })
  })

  const clocks = [NOW / 1_000, NOW * 1_000, NaN].map((time) => () => time)
  const failing = [() => JSON.parse('no JSON') as unknown, () => Promise.reject(new Error('planted'))]
  it.each([...clocks, ...failing])('answers 500 to a wrong now: %#', async (clock) => {
    const explanation = expect.stringContaining('now must') as unknown
    const answer = await verified({ ...all, now: clock as () => number })
    expect(answer).toMatchObject({ left: { reason: 'badClock', status: 500, explanation } })
  })

  it('an unset variable turns no check off, and a misspelt key is an error', async () => {
    const unset = { secrets: 's', standardSecrets: process.env['NO_SUCH_SECRET'] } as VerifyKeys
    expect(asText(await verified(unset))).toBe('badSecret')
    await expect(verified({ standardSecret: now } as VerifyKeys)).rejects.toThrow(/"standardSecret": give/)
    await expect(verified({ ...all, tolerance: NaN })).rejects.toThrow('must be numbers from 0')
    for (const options of [{ maxBytes: -1 }, { maxbytes: 1 }])
      await expect(verifyRequest(all, new Request('http://a'), options)).rejects.toThrow(/from 0|"maxbytes"/)
  })
})

it.each([
  ...['', 'abc', 'whsec_', secretOf(Buffer.alloc(23)), secretOf(Buffer.alloc(65)), ` ${now}`, `${now}\n`],
  ...[`${now}*`, now.replace('whsec_', 'WHSEC_'), `${secretOf(Buffer.alloc(25))}=`, {}, 7, null, undefined],
])('a standard secret is not %j, and the fault does not show it', (wrong) => {
  const fault = { path: '', message: 'must be "whsec_" and the base64 of 24 to 64 bytes' }
  expect(standardSecretFrom(wrong)).toEqual({ _tag: 'Left', left: fault })
  expect(standardSecretFrom([now, wrong])).toEqual({ _tag: 'Left', left: { ...fault, path: '[1]' } })
  expect(() => standardHeadersOf(wrong as string, 'm1', body, NOW)).toThrow(/^the standard secret must be/)
})
