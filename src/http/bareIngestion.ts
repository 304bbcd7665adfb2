import { isLeft, left, right, valueOr, type Right } from '../core/either.ts'
import { partlyFailed, refused, type Receipt, type Verdict } from '../core/failure.ts'
import { isRecord, type Fields } from '../core/json.ts'
import { checkOptions, decodeOptions, flag, option, optional, wholeNumber } from '../core/options.ts'
import type { Option } from '../core/options.ts'
import type { Fault } from '../core/refusal.ts'
import { version } from '../core/package.ts'
import { isPayload, type Payload } from '../event/payload.ts'
import { oneLine } from '../log/debug.ts'
import { secretFrom } from '../signing/secret.ts'
import { contramap, makeLayer } from '../sink/layer.ts'
import type { Attempt, Layer, Sink } from '../sink/sink.ts'
import { withTimeout } from '../sink/timeout.ts'
import { headersOption, sinkSettings, urlOption, type RequestOptions } from './httpOptions.ts'
import { postTo, type Posting, type PostOptions } from './post.ts'

/** How the requests are made. Every option may be left out. */
export interface IngestionOptions extends RequestOptions, Pick<PostOptions, 'holds'> {
  /** Milliseconds for a whole request: name look-up, connection, TLS, headers and body. Default 10,000. */
  readonly timeout?: number
}

/** Where the requests go, with which key, and how. */
export interface IngestionSettings extends IngestionOptions {
  /** Http or https. Without a path it gets `/v1/batch`; another path is used as it is. */
  readonly endpoint: string | URL
  /** The source's write key. */
  readonly writeKey: string
}

const writeKeyOption: Option<string> = option('a write key', (value) => {
  if (typeof value !== 'string') return left("must be the source's write key, as text")
  const secret = secretFrom(value)
  if (isLeft(secret)) return left(secret.left.message)
  // Basic authentication ends the user name at its first colon.
  return value.includes(':') ? left('must not have a colon, which would end it in the request') : right(value)
})

const ingestionSettings: Option<IngestionSettings> = sinkSettings<IngestionSettings>(({ egress }) => ({
  // An endpoint may be text or a URL.
  endpoint: option('an endpoint', (it) => decodeOptions(urlOption(egress), it instanceof URL ? it.href : it)),
  writeKey: writeKeyOption,
  headers: optional(headersOption(['authorization', 'x-retry-count'])),
  timeout: optional(wholeNumber('ms', 1)),
  holds: optional(flag),
}))

/** The faults of the settings of an ingestion sink, each with its path and without a value. */
export const ingestionFaults = (settings: unknown): ReadonlyArray<Fault> => {
  const decoded = decodeOptions(ingestionSettings, settings)
  return isLeft(decoded) ? decoded.left : []
}

const MAX_DETAIL = 200

const parsedJson = (body: Buffer) =>
  valueOr<unknown, undefined>(undefined, () => JSON.parse(new TextDecoder().decode(body)))

const firstText = (...values: ReadonlyArray<unknown>) => values.find((value) => typeof value === 'string')

const errorReason = (error: unknown): string | undefined =>
  isRecord(error) ? firstText(error['reason'], error['error'], error['message']) : firstText(error)

/** Jitsu's errors are texts, such as `Message ID: m1: event is too large`. */
const TEXT_WITH_ID = /^Message ID: (.*?): /

/** The message that an error of a batch of `count` names: its index, else the messages that have an id. */
const nameIn = (error: unknown, count: number): number | string | undefined => {
  if (typeof error === 'string') return TEXT_WITH_ID.exec(error)?.[1]
  const { index, messageId, message_id: snake }: Fields = isRecord(error) ? error : {}
  if (typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < count) return index
  return firstText(messageId, snake)
}

/** Each named message with its error. Errors are a list, or an object by message id. */
const namedErrors = (errors: unknown, ids: ReadonlyArray<string>): ReadonlyMap<number | string, unknown> => {
  const known = new Set(ids)
  const named = new Map<number | string, unknown>()
  const add = (name: number | string | undefined, error: unknown): void => {
    if (typeof name === 'number' || (name !== undefined && known.has(name))) named.set(name, error)
  }
  if (Array.isArray(errors)) for (const error of errors) add(nameIn(error, ids.length), error)
  else if (isRecord(errors)) for (const [id, error] of Object.entries(errors)) add(id, error)
  return named
}

/**
 * The verdict by status, after the answer's body was read. A JSON body with `"ok":false` changes a status
 * that says delivered: the messages that it names are refused, each with its reason, or all of them if it
 * names none or has `okEvents: 0`. The text of another body is the detail of a refusal. A receiver may repeat
 * the request, so the write key and `headers` are replaced before a text is cut.
 */
export const answerReader = (writeKey: string, credentials: string, headers: ReadonlyArray<string> = []) => {
  /** As it stands, in JSON, where PHP escapes slashes too, and in a URL, in both cases. */
  const formsOf = (text: string) => {
    const [json, uri] = [JSON.stringify(text).slice(1, -1), encodeURIComponent(text)]
    return [text, json, json.replaceAll('/', '\\/'), uri, uri.replace(/%../g, (hex) => hex.toLowerCase())]
  }
  // Of `Bearer TOKEN` also the token.
  const values = headers.flatMap((value) => [value, value.slice(value.lastIndexOf(' ') + 1)])
  // One below 8 characters is no secret and may be a part of any word.
  const hidden = [credentials, writeKey, ...values.filter(({ length }) => length >= 8)]
  // One may be a part of another.
  const secrets = [...new Set(hidden.flatMap(formsOf))].toSorted((a, b) => b.length - a.length)

  const detailOf = (text: string): string | undefined => {
    const shown = secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text).trim()
    // A megabyte of control characters takes 75 ms.
    const clean = oneLine(shown.slice(0, 1_000))
    if (clean === '') return undefined
    return clean.length > MAX_DETAIL ? `${clean.slice(0, MAX_DETAIL)}…` : clean
  }

  const judgeDelivered = (delivered: Right<Receipt>, said: Fields, payload: Payload<unknown>): Verdict => {
    const { status } = delivered.right
    const ids = payload.members?.map(({ id }) => id) ?? [payload.id]
    const refusal = (error: unknown): Verdict => {
      const detail = detailOf(errorReason(error) ?? '') ?? 'the receiver says that it did not take it'
      return left(refused('rejected', status === undefined ? { detail } : { status, detail }))
    }
    const errors = namedErrors(said['errors'], ids)
    if (errors.size === 0) return refusal(said)
    // One verdict for each error: several messages may have its id.
    const named = new Map([...errors].map(([name, error]) => [name, refusal(error)]))
    const others = said['okEvents'] === 0 ? refusal(said) : delivered
    const verdicts = ids.map((id, at) => named.get(at) ?? named.get(id) ?? others)
    const [first] = verdicts
    return first !== undefined && verdicts.length === 1 ? first : left(partlyFailed(verdicts))
  }

  return (verdict: Verdict, body: Buffer, payload: Payload<unknown>): Verdict => {
    if (verdict._tag === 'Left') {
      const isStatus = verdict.left._tag === 'Refused' && verdict.left.reason === 'status'
      const detail = isStatus ? detailOf(body.toString()) : undefined
      return detail === undefined ? verdict : left({ ...verdict.left, detail })
    }
    const said = body.includes('false') ? parsedJson(body) : undefined
    return isRecord(said) && said['ok'] === false ? judgeDelivered(verdict, said, payload) : verdict
  }
}

/** An answer may have a line for each message of a batch. A larger one is not read: its status decides. */
const MAX_ANSWER = 1_000_000

const retryCount = (_: Payload<unknown>, { number }: Attempt) => ['X-Retry-Count', String(number - 1)]

/**
 * The layer of a host takes payloads, so their postings stand beside them: only here, because a `WeakMap`
 * takes 9 % of a client.
 */
const around = (layer: Layer, posted: Sink<Posting>): Sink<Posting> => {
  const postings = new WeakMap<object, Posting>()
  // A layer may copy a batch, and its list of messages is the same.
  const listOf = (payload: Payload<unknown>) => (isPayload(payload) ? (payload.members ?? payload) : payload)
  const inner = contramap((it: Payload<unknown>) => ({ ...postings.get(listOf(it)), payload: it }))(posted)
  return contramap((posting: Posting) => {
    const { payload } = posting
    // Not a payload, if code without types gave none.
    if (isPayload(payload)) postings.set(listOf(payload), posting)
    return payload
  })(layer(inner))
}

/** An ingestion sink without queue, for a client: it has its own. */
export const bareIngestion = (
  endpoint: string | URL,
  writeKey: string,
  options: IngestionOptions,
  layer?: Layer,
): Sink<Payload<unknown>> => {
  const settings = checkOptions('ingestion options', ingestionSettings, { ...options, endpoint, writeKey })
  const { timeout = 10_000 } = settings
  const url = new URL(settings.endpoint)
  if (url.pathname === '/') url.pathname = '/v1/batch'
  const credentials = Buffer.from(`${writeKey}:`).toString('base64')
  const fixed = ['User-Agent', `headrace-node/${version}`, 'Authorization', `Basic ${credentials}`]
  const judge = answerReader(writeKey, credentials, Object.values(settings.headers ?? {}))
  // The time limit stands inside the wait for the body: when it ends a body, the status decides.
  const how = { ...settings, connectWithin: timeout, headersOf: retryCount }
  const posted = postTo(url, fixed, how, (posting: Posting) => posting)
  const post = withTimeout({ timeout })(layer === undefined ? posted : around(layer, posted))
  return makeLayer<Posting, Payload<unknown>>(post, (subscribe) => (payload, attempt, observer) => {
    /** The verdict by status, while the body may say more. */
    let pending: Verdict | undefined
    const posting: Posting = {
      payload,
      maxBody: MAX_ANSWER,
      onBody: (body) => {
        if (pending !== undefined) pending = judge(pending, body, payload)
      },
    }
    return subscribe(posting, attempt, {
      next: (verdict) => {
        // The body of an answer that may be tried again says nothing more.
        if (verdict._tag === 'Left' && verdict.left._tag === 'Retryable') observer.next(verdict)
        else pending = verdict
      },
      complete: () => {
        if (pending !== undefined) observer.next(pending)
        observer.complete()
      },
      error: (defect) => observer.error(defect),
    })
  })
}
