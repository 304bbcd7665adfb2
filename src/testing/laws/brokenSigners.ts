import { right } from 'fp-ts/lib/Either.js'
import { isRecord } from '../../core/json.ts'
import { sign } from '../../signing/secret.ts'
import { failed, verifyParsed, verifyRaw } from '../../signing/verify.ts'
import { brokenVersions } from './law.ts'
import { hmac, type Signing } from './signLaws.ts'

const textOf = (body: string | Uint8Array): string =>
  typeof body === 'string' ? body : Buffer.from(body).toString()

const signing = (change: Partial<Signing>): Signing => ({ sign, verifyRaw, verifyParsed, ...change })

/** Accepts more than headrace does. */
const accepting = (rule: (...given: Parameters<Signing['verifyRaw']>) => boolean): Signing =>
  signing({ verifyRaw: (...given) => rule(...given) || verifyRaw(...given) })

/** Compares by a rule of its own. What headrace refuses before it compares stays refused. */
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
export const brokenSigners = brokenVersions<Signing>()({
  'signs in upper case': {
    breaks: 'sign/is-hmac-sha1',
    make: signing({ sign: (secret, body) => sign(secret, body).toUpperCase() }),
  },
  'verifies the decoded text of bytes': {
    breaks: 'sign/round-trip',
    make: by((secret, body, signature) => hmac(secret, textOf(body)) === signature),
  },
  'tries the first secret only': {
    breaks: 'sign/round-trip',
    make: signing({
      verifyRaw: (secrets, body, signature) => verifyRaw([secrets].flat().slice(0, 1), body, signature),
    }),
  },
  'writes a parsed body with its keys in order': {
    breaks: 'sign/round-trip',
    make: signing({
      verifyParsed: (secrets, body, signature) =>
        isRecord(body)
          ? verifyRaw(secrets, JSON.stringify(body, Object.keys(body).sort()), signature)
          : verifyParsed(secrets, body, signature),
    }),
  },
  'compares only the first digits': {
    breaks: 'sign/each-bit-counts',
    make: by((secret, body, signature) => hmac(secret, body).slice(0, 16) === signature.slice(0, 16)),
  },
  'does not look at white space around the body': {
    breaks: 'sign/each-bit-counts',
    make: by((secret, body, signature) =>
      [body, textOf(body).trim()].some((each) => hmac(secret, each) === signature),
    ),
  },
  'trims a secret': {
    breaks: 'sign/bad-secret',
    make: signing({ sign: (secret, body) => sign(secret.trim(), body) }),
  },
  'signs with an empty secret': {
    breaks: 'sign/bad-secret',
    make: signing({ sign: (secret, body) => (secret === '' ? hmac(secret, body) : sign(secret, body)) }),
  },
  'verifies with an empty secret': {
    breaks: 'sign/bad-secret',
    make: accepting((secrets, body, signature) => secrets === '' && hmac('', body) === signature),
  },
  'verifies with an empty list of secrets': {
    breaks: 'sign/bad-secret',
    make: accepting((secrets) => Array.isArray(secrets) && secrets.length === 0),
  },
  'decodes the digits, which drops a bad tail': {
    breaks: 'sign/malformed-signature',
    make: by((secret, body, signature) =>
      Buffer.from(signature, 'hex').equals(Buffer.from(hmac(secret, body), 'hex')),
    ),
  },
  'throws for a signature that is no text': {
    breaks: 'sign/malformed-signature',
    make: accepting((_secrets, _body, signature) => (signature as string | undefined)?.trim() === ''),
  },
})
