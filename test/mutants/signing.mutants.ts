/** Wrong ways to sign and verify, and the law that finds each. */
import { createHmac } from 'node:crypto'
import { right } from 'fp-ts/lib/Either.js'
import { failed, verifyParsed, verifyRaw, type Secrets } from '../../src/signing/verify.ts'
import { sign } from '../../src/signing/secret.ts'
import { describe, expect, it } from 'vitest'
import { signingLaws, type Signing } from '../laws/signing.laws.ts'

const real: Signing = { sign, verifyRaw, verifyParsed }

const hmac = (secret: string, body: string | Uint8Array): string =>
  createHmac('sha1', secret).update(body).digest('hex')

const textOf = (body: string | Uint8Array): string =>
  typeof body === 'string' ? body : Buffer.from(body).toString()

/** Verifies by a rule of its own, in place of the whole of `verifyRaw`. */
const by = (rule: (secret: string, body: string | Uint8Array, signature: string) => boolean): Signing => ({
  ...real,
  verifyRaw: (secrets, body, signature) => {
    const honest = verifyRaw(secrets, body, signature)
    if (honest._tag === 'Left' && ['badSecret', 'badBody', 'missing'].includes(honest.left.reason))
      return honest
    const all = (Array.isArray(secrets) ? secrets : [secrets]) as ReadonlyArray<string>
    const position = all.findIndex((secret) => rule(secret, body, String(signature)))
    return position < 0 ? failed('mismatch', 'no') : right({ _tag: 'Verified', secret: position })
  },
})

/** Changes the signature before the real one sees it. */
const seeing = (change: (signature: unknown) => unknown): Signing => ({
  ...real,
  verifyRaw: (secrets, body, signature) => verifyRaw(secrets, body, change(signature)),
})

const asText = (change: (signature: string) => unknown): Signing =>
  seeing((signature) => (typeof signature === 'string' ? change(signature) : signature))

const firstOf = (secrets: Secrets): Secrets =>
  Array.isArray(secrets) ? (secrets.slice(0, 1) as Secrets) : secrets

const mutants: ReadonlyArray<{
  readonly name: string
  readonly law: string
  readonly signing: Signing
}> = [
  { name: 'accepts upper case', law: 'S7', signing: asText((signature) => signature.toLowerCase()) },
  {
    name: 'compares only the first digits',
    law: 'S2',
    signing: by((secret, body, signature) => hmac(secret, body).slice(0, 16) === signature.slice(0, 16)),
  },
  {
    name: 'hashes the decoded text',
    law: 'S2',
    signing: by((secret, body, signature) => hmac(secret, textOf(body)) === signature),
  },
  {
    name: 'decodes the hex, which drops a bad tail',
    law: 'S7',
    signing: by((secret, body, signature) =>
      Buffer.from(signature, 'hex').equals(Buffer.from(hmac(secret, body), 'hex')),
    ),
  },
  {
    name: 'tries the first secret only',
    law: 'S8',
    signing: {
      ...real,
      verifyRaw: (secrets, body, signature) => verifyRaw(firstOf(secrets), body, signature),
    },
  },
  {
    name: 'leaves out bad secrets',
    law: 'S4',
    signing: {
      ...real,
      verifyRaw: (secrets, body, signature) =>
        verifyRaw(Array.isArray(secrets) ? secrets.filter((each) => each !== '') : secrets, body, signature),
    },
  },
  {
    name: 'trims the secret',
    law: 'S4',
    signing: { ...real, sign: (secret, body) => sign(secret.trim(), body) },
  },
  {
    name: 'answers in upper case',
    law: 'S3',
    signing: { ...real, sign: (secret, body) => sign(secret, body).toUpperCase() },
  },
  {
    name: 'takes text as latin-1',
    law: 'S1',
    signing: {
      ...real,
      sign: (secret, body) => sign(secret, typeof body === 'string' ? Buffer.from(body, 'latin1') : body),
    },
  },
  {
    name: 'verifies the re-serialised body as raw',
    law: 'S5',
    signing: {
      ...real,
      verifyRaw: (secrets, body, signature) => {
        const honest = verifyRaw(secrets, body, signature)
        if (honest._tag === 'Right') return honest
        try {
          return verifyParsed(secrets, JSON.parse(textOf(body)), signature)
        } catch {
          return honest
        }
      },
    },
  },
  {
    name: 'writes the parsed body with its keys in order',
    law: 'S5',
    signing: {
      ...real,
      verifyParsed: (secrets, body, signature) => {
        const keys = typeof body === 'object' && body !== null ? Object.keys(body).sort() : []
        return Array.isArray(body)
          ? verifyParsed(secrets, body, signature)
          : verifyRaw(secrets, JSON.stringify(body, keys), signature)
      },
    },
  },
]

describe('the laws of signing fail for a version that', () =>
  it.each(mutants)('$name: $law', ({ law, signing }) => {
    const laws = signingLaws(signing).filter(({ id }) => id.startsWith(`${law} `))
    expect(laws.some(({ fails }) => fails())).toBe(true)
  }))
