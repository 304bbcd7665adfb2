const SECONDS = /^\d+$/
/** Some 317 years: whoever asks for more asks for this. */
const MOST_SECONDS = 9_999_999_999

/**
 * How long a `Retry-After` header asks to wait, in milliseconds; undefined if it asks for nothing that can be understood.
 *
 * Whole seconds, of which more than ten digits say 9,999,999,999, or a date in the one form that HTTP writes (`Sun, 06 Nov 1994 08:49:37 GMT`). All
 * else is ignored, for JavaScript's own readers would take `120` for the year 120 and the empty text for 0 (webhooks/S42).
 * It may be longer than the deadline allows; what to do about that is for the retry policy to say.
 *
 * @param now The wall clock, milliseconds since 1970. A date that is over asks for 0.
 */
export const retryAfter = (
  header: string | ReadonlyArray<string> | undefined,
  now: number,
): number | undefined => {
  const text = (typeof header === 'string' ? header : header?.[0])?.trim()
  if (text === undefined) return undefined
  if (SECONDS.test(text)) return Math.min(Number(text), MOST_SECONDS) * 1_000
  const at = Date.parse(text)
  return !Number.isNaN(at) && new Date(at).toUTCString() === text ? Math.max(0, at - now) : undefined
}
