import { right } from 'fp-ts/lib/Either.js'
import { sign } from '../../signing/secret.ts'
import { failed, verifyParsed, verifyRaw } from '../../signing/verify.ts'
import type { Broken } from './law.ts'
import { hmac, type Signing } from './signLaws.ts'

const textOf = (body: string | Uint8Array): string =>
  typeof body === 'string' ? body : Buffer.from(body).toString()

const signing = (change: Partial<Signing>): Signing => ({ sign, verifyRaw, verifyParsed, ...change })

/** Verifies by a rule of its own. What headrace refuses before it compares stays refused. */
const by = (rule: (secret: string, body: string | Uint8Array, signature: string) => boolean): Signing =>
  signing({
    verifyRaw: (secrets, body, signature) => {
      const honest = verifyRaw(secrets, body, signature)
      if (honest._tag === 'Left' && /badSecret|badBody|missing/.test(honest.left.reason)) return honest
      const position = [secrets].flat().findIndex((secret) => rule(secret, body, String(signature)))
      return position < 0 ? failed('mismatch', 'no') : right({ _tag: 'Verified', secret: position })
    },
  })

/** Signers and verifiers with one fault each. */
export const brokenSigners = {
  'signs in upper case': {
    breaks: 'sign/is-hmac-sha1',
    make: signing({ sign: (secret, body) => sign(secret, body).toUpperCase() }),
  },
  'verifies the decoded text of bytes': {
    breaks: 'sign/round-trip',
    make: by((secret, body, signature) => hmac(secret, textOf(body)) === signature),
  },
  'accepts every signature of 40 digits': {
    breaks: 'sign/each-bit-counts',
    make: by((_secret, _body, signature) => /^[0-9a-f]{40}$/.test(signature)),
  },
  'compares only the first digits': {
    breaks: 'sign/each-bit-counts',
    make: by((secret, body, signature) => hmac(secret, body).slice(0, 16) === signature.slice(0, 16)),
  },
  'takes text as Latin-1': {
    breaks: 'sign/is-hmac-sha1',
    make: signing({
      sign: (secret, body) => sign(secret, typeof body === 'string' ? Buffer.from(body, 'latin1') : body),
    }),
  },
  'verifies the JSON anew': {
    breaks: 'sign/bytes-as-they-came',
    make: signing({
      verifyRaw: (secrets, body, signature) => {
        try {
          return verifyParsed(secrets, JSON.parse(textOf(body)), signature)
        } catch {
          return verifyRaw(secrets, body, signature)
        }
      },
    }),
  },
  'writes a parsed body with its keys in order': {
    breaks: 'sign/parsed-agrees',
    make: signing({
      verifyParsed: (secrets, body, signature) =>
        typeof body === 'object' && body !== null && !Array.isArray(body)
          ? verifyRaw(secrets, JSON.stringify(body, Object.keys(body).sort()), signature)
          : verifyParsed(secrets, body, signature),
    }),
  },
  'trims a secret': {
    breaks: 'sign/bad-secret',
    make: signing({ sign: (secret, body) => sign(secret.trim(), body) }),
  },
  'tries the first secret only': {
    breaks: 'sign/round-trip',
    make: signing({
      verifyRaw: (secrets, body, signature) => verifyRaw([secrets].flat().slice(0, 1), body, signature),
    }),
  },
  'decodes the digits, which drops a bad tail': {
    breaks: 'sign/malformed-signature',
    make: by((secret, body, signature) =>
      Buffer.from(signature, 'hex').equals(Buffer.from(hmac(secret, body), 'hex')),
    ),
  },
  'throws for a signature that is no text': {
    breaks: 'sign/answers-anything',
    make: signing({
      verifyRaw: (secrets, body, signature) =>
        verifyRaw(secrets, body, (signature as string | undefined)?.trim()),
    }),
  },
} satisfies Record<string, Broken<Signing>>
