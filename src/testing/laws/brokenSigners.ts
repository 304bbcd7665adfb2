import { isLeft, tryCatch } from 'fp-ts/lib/Either.js'
import { sign } from '../../signing/secret.ts'
import { verifyParsed, verifyRaw } from '../../signing/verify.ts'
import { brokenVersions } from './law.ts'
import { hmac, type Signing } from './signLaws.ts'

const textOf = (body: string | Uint8Array): string =>
  typeof body === 'string' ? body : Buffer.from(body).toString()

const signing = (change: Partial<Signing>): Signing => ({ sign, verifyRaw, verifyParsed, ...change })

/** Accepts more than headrace does. `good` is the signature with the first secret. */
const accepting = (
  rule: (signature: string, good: string, body: string, secret: string | undefined) => boolean,
): Signing =>
  signing({
    verifyRaw: (secrets, body, signature) => {
      const [secret] = [secrets].flat()
      const good = tryCatch(() => hmac(secret ?? '', body), String)
      if (typeof signature !== 'string' || isLeft(good)) return verifyRaw(secrets, body, signature)
      return rule(signature, good.right, textOf(body), secret) || verifyRaw(secrets, body, signature)
    },
  })

/** Signs another text than it is given. */
const signingAs = (change: (text: string) => string) => ({
  breaks: 'sign/is-hmac-sha1',
  make: signing({ sign: (secret, body) => sign(secret, typeof body === 'string' ? change(body) : body) }),
})

/** Signers and verifiers with one fault each. */
export const brokenSigners = brokenVersions<Signing>()({
  'signs in upper case': {
    breaks: 'sign/is-hmac-sha1',
    make: signing({ sign: (secret, body) => sign(secret, body).toUpperCase() }),
  },
  'signs the first 64 KB': signingAs((text) => text.slice(0, 65_536)),
  'strips a byte order mark': signingAs((text) => text.replace(/^\ufeff/, '')),
  'turns CRLF into LF': signingAs((text) => text.replaceAll('\r\n', '\n')),
  'reads a secret of hexadecimal digits as bytes': {
    breaks: 'sign/is-hmac-sha1',
    make: signing({
      sign: (secret, body) =>
        /^([0-9a-f]{2})+$/.test(secret) ? hmac(Buffer.from(secret, 'hex'), body) : sign(secret, body),
    }),
  },
  'verifies the decoded text of bytes': {
    breaks: 'sign/round-trip',
    make: signing({ verifyRaw: (secrets, body, signature) => verifyRaw(secrets, textOf(body), signature) }),
  },
  'tries the first secret only': {
    breaks: 'sign/round-trip',
    make: signing({ verifyRaw: (secrets, ...rest) => verifyRaw([secrets].flat().slice(0, 1), ...rest) }),
  },
  'writes a parsed body with its keys in order': {
    breaks: 'sign/round-trip',
    make: signing({
      verifyParsed: (secrets, body, signature) =>
        verifyRaw(secrets, JSON.stringify(body, Object.keys(Object(body) as object).sort()), signature),
    }),
  },
  'compares only the first digits': {
    breaks: 'sign/each-bit-counts',
    make: accepting((signature, good) => good.slice(0, 16) === signature.slice(0, 16)),
  },
  'does not look at white space around the body': {
    breaks: 'sign/each-bit-counts',
    make: accepting((signature, _, body, secret = '') => hmac(secret, body.trim()) === signature),
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
    make: accepting((signature, good, _, secret) => secret === '' && signature === good),
  },
  'verifies with an empty list of secrets': {
    breaks: 'sign/bad-secret',
    make: accepting((_signature, _good, _body, secret) => secret === undefined),
  },
  'decodes the digits, which drops a bad tail': {
    breaks: 'sign/malformed-signature',
    make: accepting((signature, good) => Buffer.from(signature, 'hex').equals(Buffer.from(good, 'hex'))),
  },
  'trims a signature': {
    breaks: 'sign/malformed-signature',
    make: accepting((signature, good) => signature.trim() === good),
  },
  'throws for a signature that is no text': {
    breaks: 'sign/malformed-signature',
    make: signing({ verifyRaw: (keys, body, given) => verifyRaw(keys, body, (given as string).trim()) }),
  },
})
