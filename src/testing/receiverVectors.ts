import type { Forwarded, Track } from '../event/model.ts'
import type { Signer } from '../event/payload.ts'
import { toWebhookBody } from '../event/webhookBody.ts'
import { signerOf } from '../signing/secret.ts'
import type { Secret } from '../signing/secret.ts'

/** A request to a receiver and the answer that is expected, as data that any language reads. */
export interface ReceiverVector {
  /** Such as `signature/missing`. It stays the same in later versions. */
  readonly id: string
  /** A receiver that breaks a `must` loses events or takes forged ones. A `should` is rarer, a `may` is a choice. */
  readonly level: 'must' | 'should' | 'may'
  /** What the receiver does, in one sentence. */
  readonly statement: string
  readonly request: VectorRequest
  /** The class of the status of each answer, and the milliseconds until its headers come. */
  readonly expect: { readonly status: '2xx' | '4xx'; readonly withinMs: number }
  /** What happens with a receiver that does not. */
  readonly why: string
}

/** The request of a vector. */
export interface VectorRequest {
  readonly method: 'POST'
  /** All but Content-Length, which is always sent. Values are Latin-1. */
  readonly headers: Readonly<Record<string, string>>
  /** Sent as UTF-8. Left out if the body is not UTF-8. */
  readonly body?: string
  /** The bytes of a body that is not UTF-8. */
  readonly bodyBase64?: string
  /** Requests, one after the other. Default 1. */
  readonly times?: number
  /** Requests at the same time. Default 1. */
  readonly atOnce?: number
  /** Parts in which the body is written, 50 ms after each other. Default 1. */
  readonly pieces?: number
}

/** The secret of the published vectors, `headrace/vectors/receiver.json`. */
export const VECTOR_SECRET = 'the secret of the receiver vectors'

const TIMESTAMP = '2024-02-29T12:00:00.000Z'
const userId = 'check-receiver'

const named = (name: string) => ({
  ...{ userId, context: {}, timestamp: TIMESTAMP },
  messageId: `check-receiver-${name}`,
})

/** What headrace sends for an event. */
const written = (event: Forwarded): string => JSON.stringify(toWebhookBody(event))

const track = (name: string, properties: Track['properties']): string =>
  written({ type: 'track', ...named(name), event: 'Receiver Checked', properties })

/** A body, and how it is signed and sent. */
interface Case extends Pick<ReceiverVector, 'id' | 'statement' | 'why'> {
  readonly status: '2xx' | '4xx'
  readonly body: string | Buffer
  /** The header, made of the secret's signer. Undefined: there is none. */
  readonly signature: (sign: Signer) => string | undefined
  readonly how?: Pick<VectorRequest, 'times' | 'atOnce' | 'pieces'>
}

const accepts = (id: string, what: string, body: string, why: string, how: Case['how'] = {}): Case => {
  const statement = `Accepts ${what}.`
  return { id, statement, why, status: '2xx', body, signature: (sign) => sign(body), how }
}

const kind = (event: Forwarded, note = ''): Case => {
  const why = `Every ${event.type} event is lost.`
  return accepts(`kind/${event.type}`, `an event of kind ${event.type}${note}`, written(event), why)
}

const SIGNED = track('signed', { plan: 'free' })
const FORGED =
  'A receiver that takes it takes events from everyone. One that answers 5xx is sent the same request again for four hours.'

const refuses = (
  id: string,
  what: string,
  signature: Case['signature'],
  body: Case['body'] = SIGNED,
): Case => ({ id, statement: `Refuses ${what}.`, why: FORGED, status: '4xx', body, signature })

/** The same digits but for the last one. */
const flipped = (digest: string): string => digest.slice(0, -1) + (digest.endsWith('0') ? '1' : '0')

const LARGE = 32_768
const filler = 'x'.repeat(LARGE - Buffer.byteLength(track('32-kib', { filler: '' })))
const REWRITTEN =
  'Languages write them differently. A receiver that verifies JSON that it wrote anew gets another signature.'

const MUST: ReadonlyArray<Case> = [
  kind({ type: 'page', ...named('page'), name: 'Home', properties: { path: '/', title: 'Home' } }),
  kind({ type: 'screen', ...named('screen'), name: 'Cart', context: { os: { name: 'Android' } } }),
  kind({ type: 'identify', ...named('identify'), traits: { plan: 'pro', seats: 3 } }),
  kind({
    type: 'track',
    ...named('track'),
    event: 'Sold',
    properties: { total: 27.5, items: [{ sku: 'G-32' }] },
  }),
  kind(
    { type: 'alias', ...named('alias'), previousId: 'check-receiver-visitor' },
    ', whose keys "Previous ID" and "User ID" have a space',
  ),
  kind({ type: 'group', ...named('group'), groupId: 'acme', traits: { employees: 329 } }),
  kind({ type: 'delete', userId, timestamp: TIMESTAMP }, ', which has no version, context and messageId'),
  accepts(
    'body/unicode',
    'accents, Chinese, Hebrew and emoji in UTF-8',
    track('unicode', { text: 'Zoë, e\u0301, 北京, שלום, 👩‍🚀 \u2028 <b>&</b> "/"' }),
    'A receiver that reads the body as Latin-1, or escapes it in another way, refuses the names of people.',
  ),
  accepts(
    'body/lone-surrogates',
    'halves of surrogate pairs as JSON escapes',
    track('lone-surrogates', { title: 'cut \ud83d', rest: '\ude00' }),
    'Browsers cut text within an emoji. Some JSON parsers refuse the whole body: verify the bytes first.',
  ),
  accepts(
    'body/32-kib',
    'a body of 32,768 bytes',
    track('32-kib', { filler }),
    'Events have up to 32 KB. A receiver or a proxy with a smaller limit loses the large ones.',
  ),
  accepts(
    'body/unknown-fields',
    'fields that it does not know',
    track('unknown-fields', { plan: 'free' }).replace('}', '},"later":{"a":[null,true]}'),
    'Senders add fields. A receiver that refuses them loses all events on the day of an update.',
  ),
  accepts(
    'repeat/same-event',
    'the same event twice',
    track('same-event', { plan: 'free' }),
    'If an answer is lost, the event is sent again. A 4xx to the second makes a delivered event a dead letter.',
    { times: 2 },
  ),
  refuses('signature/missing', 'a request without a signature', () => undefined),
  refuses('signature/empty', 'an empty signature', () => ''),
  refuses('signature/truncated', 'the first 20 digits', (sign) => sign(SIGNED).slice(0, 20)),
  refuses('signature/prefixed', 'sha1= before the signature', (sign) => `sha1=${sign(SIGNED)}`),
  refuses('signature/wrong-key', 'a signature by another secret', () => signerOf('another secret')(SIGNED)),
  refuses('signature/flipped-digit', 'another last digit', (sign) => flipped(sign(SIGNED))),
  refuses('signature/not-hex', '40 characters that are no digits', () => 'z'.repeat(40)),
  refuses(
    'signature/tampered-body',
    'a body that was changed on the way',
    (sign) => sign(SIGNED),
    SIGNED.replace('free', 'gold'),
  ),
]

const SHOULD: ReadonlyArray<Case> = [
  refuses('signature/not-ascii', 'a signature that is not ASCII', (sign) => `é${sign(SIGNED).slice(1)}`),
  refuses(
    'signature/of-decoded-text',
    'a byte that is not UTF-8, signed as the character that stands for such bytes',
    (sign) => sign(track('text', { name: '\ufffd' })),
    Buffer.from(track('text', { name: 'ÿ' }), 'latin1'),
  ),
  accepts(
    'body/numbers',
    'very large and very small numbers',
    track('numbers', { large: 1e21, small: 1e-7, safe: 9_007_199_254_740_991, third: 1 / 3 }),
    REWRITTEN,
  ),
  accepts(
    'body/keys-like-indexes',
    'keys that look like the indexes of an array',
    track('keys-like-indexes', { 2: 'two', 10: 'ten', 1: 'one', '01': 'text', b: 'b', '': 'empty' }),
    REWRITTEN,
  ),
  accepts(
    'body/padded-strings',
    'strings with white space at both ends',
    track('padded-strings', { name: '  Ada\t', note: '\r\nline\n' }),
    'A middleware that trims strings changes the body, whose signature no longer fits.',
  ),
  accepts(
    'upload/slow',
    'a body that comes in eight parts, 50 ms after each other',
    track('slow', { plan: 'free' }),
    'Networks cut bodies anywhere. A receiver that verifies the first part refuses the event.',
    { pieces: 8 },
  ),
  accepts(
    'load/50-at-once',
    'fifty requests with the same event at the same time',
    track('at-once', { plan: 'free' }),
    'After an outage all that waited comes at once. A receiver that answers late gets it again.',
    { atOnce: 50 },
  ),
]

const MAY: ReadonlyArray<Case> = [
  {
    ...accepts('signature/upper-case', 'a signature in upper case', SIGNED, 'headrace signs in lower case.'),
    signature: (sign) => sign(SIGNED).toUpperCase(),
  },
]

const CASES = { must: MUST, should: SHOULD, may: MAY }

/**
 * What a receiver of signed webhooks must, should and may do: requests with the answers that are expected, signed with a secret. The users and
 * the message ids in them begin with `check-receiver`. The same secret gives the same vectors.
 *
 * @param withinMs milliseconds for each answer. Default 5,000, after which headrace tries again
 *
 * @example
 * import { receiverVectors, VECTOR_SECRET } from 'headrace/testing'
 * const missing = receiverVectors(VECTOR_SECRET).find(({ id }) => id === 'signature/missing')
 * console.log(missing?.level, missing?.expect) // => must { status: '4xx', withinMs: 5000 }
 */
export const receiverVectors = (secret: Secret | string, withinMs = 5_000): ReadonlyArray<ReceiverVector> => {
  const sign = signerOf(secret)
  return (['must', 'should', 'may'] as const).flatMap((level) =>
    CASES[level].map(({ id, statement, why, status, body, signature, how }) => {
      const header = signature(sign)
      const signed = header === undefined ? {} : { 'X-Signature': header }
      const headers = { 'Content-Type': 'application/json', ...signed }
      const content = typeof body === 'string' ? { body } : { bodyBase64: body.toString('base64') }
      const request = { method: 'POST', headers, ...content, ...how } as const
      return { id, level, statement, request, expect: { status, withinMs }, why }
    }),
  )
}
