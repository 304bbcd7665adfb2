import { isLeft, tryCatch } from 'fp-ts/lib/Either.js'
import { sign } from '../../signing/secret.ts'
import { verifyParsed, verifyRaw } from '../../signing/verify.ts'
import { brokenVersions } from './law.ts'
import { hmac, type Signing } from './signLaws.ts'

/** Bytes as text. */
export const textOf = (body: string | Uint8Array): string =>
  typeof body === 'string' ? body : Buffer.from(body).toString()

/** What is right, but for a change. */
export const signing = (change: Partial<Signing>): Signing => ({ sign, verifyRaw, verifyParsed, ...change })

/** Accepts more than headrace does. `good` is the signature with the first secret. */
export const accepting = (
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
export const signingAs = (change: (text: string) => string) => ({
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
  'tries the first secret only': {
    breaks: 'sign/round-trip',
    make: signing({ verifyRaw: (secrets, ...rest) => verifyRaw([secrets].flat().slice(0, 1), ...rest) }),
  },
  'compares only the first digits': {
    breaks: 'sign/each-bit-counts',
    make: accepting((signature, good) => good.slice(0, 16) === signature.slice(0, 16)),
  },
  'trims a secret': {
    breaks: 'sign/bad-secret',
    make: signing({ sign: (secret, body) => sign(secret.trim(), body) }),
  },
  'throws for a signature that is no text': {
    breaks: 'sign/malformed-signature',
    make: signing({ verifyRaw: (keys, body, given) => verifyRaw(keys, body, (given as string).trim()) }),
  },
})
