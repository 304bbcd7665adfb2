import { type Either, left, right } from 'fp-ts/lib/Either.js'
import { mismatch, type Mismatch } from './Mismatch.ts'

/** Only this form is ever compared: `timingSafeEqual` throws on other lengths, and hex decoding drops a bad tail. */
const SIGNATURE = /^[0-9a-f]{40}$/

const whatIsWrong = (text: string): string => {
  if (text.includes(',')) return 'there are several'
  if (text.length !== 40) return `it has ${String(text.length)} characters`
  return SIGNATURE.test(text.toLowerCase()) ? 'it has upper-case letters' : 'it has other characters'
}

/** The signature as text in its one form (webhooks/S35), or why it is none. Takes whatever stood in the header. */
export const checkSignature = (value: unknown): Either<Mismatch, string> => {
  if (value === undefined || value === null || value === '')
    return left(
      mismatch('missing', 'there is no signature: the sender has no secret, or a proxy removed the header'),
    )
  if (typeof value === 'string' && SIGNATURE.test(value)) return right(value)
  const wrong = typeof value === 'string' ? whatIsWrong(value) : 'it is not text, or there are several'
  return left(mismatch('malformed', `the signature is not 40 lower-case hexadecimal digits: ${wrong}`))
}
