/** The URLs of a destination, which may change while it runs, and the counts of their attempts. */
import { constVoid, isLeft, left } from '../core/either.ts'
import { retryable, type Verdict } from '../core/failure.ts'
import { ConfigError } from '../core/refusal.ts'
import type { Event } from '../event/event.ts'
import type { Payload } from '../event/payload.ts'
import { bareWebhook } from '../http/bareWebhook.ts'
import type { LogEvent } from '../log/logEvent.ts'
import { signerOf, type Secret, type SecretSource } from '../signing/secret.ts'
import type { StandardSecretSource } from '../signing/standard.ts'
import { closeAll, firstOf } from '../sink/combine.ts'
import { concurrencyLayer } from '../sink/concurrency.ts'
import { deliveringBy, makeSink, reporting, stoppable, subscribeTo, type Subscribe } from '../sink/layer.ts'
import { MAX_HOLD, retryAfterGate, type GateState } from '../sink/retryAfterGate.ts'
import type { Sink } from '../sink/sink.ts'
import { withTimeout } from '../sink/timeout.ts'
import type { UrlStats } from './destination.ts'
import { ownHeaderFaults, type Settings, type SharedOptions } from './settings.ts'

export type Hook = Sink<Payload<Event>>

/** Where a destination sends, and how that changes. */
export type Receivers = ReturnType<typeof urlsSink>

const deferred = (why: string): Verdict => left(retryable('held', { detail: `${why}; no request was sent` }))
export const CLOSING = deferred('the destination is closing')
const REPLACED = deferred('the settings have changed since')
const NEW = retryable('held', { detail: 'the settings have this URL since; no request was sent' })

/** Why requests to a URL do not start any more, by its sink. */
const stops = new WeakMap<Hook, Verdict>()

type AnySecret = SecretSource | StandardSecretSource | undefined

/** Whether two decoded secrets have the same text. A function is only equal to itself. */
export const isSameSecret = (a: AnySecret, b: AnySecret): boolean => {
  const identityOf = (secret: AnySecret): unknown =>
    secret === undefined || typeof secret === 'function' ? secret : signerOf(secret as Secret)('same')
  return identityOf(a) === identityOf(b)
}

/**
 * Makes the sinks that post to the URLs of settings. A URL with the same settings as the last time keeps its
 * sink, and so its connections. Equal secrets keep their signer, so a body is signed once for all URLs.
 */
export const webhooksOf = (options: SharedOptions) => {
  const { egress, dispatcher, statuses, messageIdHeader, layer, timeout } = options
  let known: Array<{ text: string; secret: SecretSource | undefined; standard: AnySecret; hook: Hook }> = []
  return (settings: Settings): ReadonlyArray<Hook> => {
    const { webhooks, sharedSecret, standardSecret: shared } = settings
    const faults = messageIdHeader === undefined ? [] : ownHeaderFaults(settings, messageIdHeader)
    if (faults.length > 0) throw new ConfigError('Invalid settings of a webhook destination', faults)
    known = webhooks.map(({ secret: given = sharedSecret, standardSecret = shared, ...entry }) => {
      const text = JSON.stringify([entry.url, entry.headers, entry.tls])
      const equal = known.filter((each) => isSameSecret(each.secret, given))
      const kept = equal.find((each) => each.text === text && isSameSecret(each.standard, standardSecret))
      if (kept !== undefined) return kept
      const secret = equal[0]?.secret ?? given
      const bare = bareWebhook({
        ...entry,
        ...(secret && { secret }),
        ...(standardSecret && { standardSecret }),
        ...(egress && { egress }),
        ...(dispatcher ? { dispatcher } : { connectWithin: timeout }),
        ...(statuses && { statuses }),
        ...(messageIdHeader && { messageIdHeader }),
      })
      const hook: Hook = layer?.(stoppable(bare, () => stops.get(hook))) ?? bare
      return { text, secret, standard: standardSecret, hook }
    })
    return known.map(({ hook }) => hook)
  }
}

interface Url extends GateState {
  hook: Hook
  subscribe: Subscribe<Payload<Event>>
  /** Lets all that waits leave its queue. */
  release: () => void
  readonly queue: Hook
}

/**
 * The first success of all URLs. Each has a queue of its own for everything in flight, which only requests of
 * ended events can fill. A `Retry-After` holds back its URL for all events.
 */
export const urlsSink = (
  hooks: ReadonlyArray<Hook>,
  { clock, timeout, concurrency, maxInFlight }: SharedOptions,
) => {
  const connect = (hook: Hook): Subscribe<Payload<Event>> => subscribeTo(withTimeout({ timeout })(hook))
  const openUrl = (hook: Hook): Url => {
    const made = makeSink<Payload<Event>>(
      hook.name,
      (item, attempt, observer) => url.subscribe(item, attempt, observer),
      () => Promise.resolve(),
      true,
    )
    const gate = retryAfterGate(MAX_HOLD, () => url)
    const limits = { concurrency, queue: maxInFlight }
    const limited = concurrencyLayer<Payload<unknown>>(limits, (release) => (url.release = release))
    const queue = limited(gate(deliveringBy(hook, made)))
    const openGate: GateState = { closedUntil: -Infinity, stopped: undefined }
    const url: Url = { ...openGate, hook, subscribe: connect(hook), release: constVoid, queue }
    return url
  }
  const stop = (url: Url, why: Verdict): void => {
    url.stopped = why
    stops.set(url.hook, why)
    url.release()
  }
  /** Replaced, until the last request has ended, which takes at most `timeout`. */
  const closing = new Set<Hook>()
  const retire = (hook: Hook): void => {
    closing.add(hook)
    stops.set(hook, REPLACED)
    const forget = (): boolean => closing.delete(hook)
    hook.close({ timeout, clock }).then(forget, forget)
  }
  let urls: ReadonlyArray<Url> = []
  let ask: Subscribe<Payload<Event>>
  /** Later attempts go to these; those in flight end where they are. A URL that stays keeps its state. */
  const exchange = (next: ReadonlyArray<Hook>): void => {
    const before = urls
    const all = next.map((hook) => before.find((each) => each.hook.name === hook.name) ?? openUrl(hook))
    const queues = all.map(({ queue }) => queue)
    const isOld = ({ hook }: Url) => queues.some(({ name }) => name === hook.name)
    // An event that all of these refuse while it is under way may still go to one that comes.
    const added = () => urls.flatMap((url) => (isOld(url) ? [] : { sink: url.hook.name, failure: NEW }))
    // It throws for two of one name, before anything is changed.
    ask = subscribeTo(firstOf(queues, added))
    urls = all
    for (const [at, hook] of next.entries()) {
      const url = urls[at]
      if (url === undefined || url.hook === hook) continue
      retire(url.hook)
      url.hook = hook
      url.subscribe = connect(hook)
    }
    for (const url of before) {
      if (urls.includes(url)) continue
      stop(url, REPLACED)
      retire(url.hook)
    }
  }
  exchange(hooks)
  const sink = makeSink<Payload<Event>>(
    hooks.map(({ name }) => name).join(' | '),
    (item, attempt, observer) => ask(item, attempt, observer),
    (within, on) => closeAll([...urls.map(({ hook }) => hook), ...closing], within, on),
    true,
  )
  /** When a request may start, if all ask for a pause. */
  const closedUntil = (): number => urls.reduce((first, url) => Math.min(first, url.closedUntil), Infinity)
  /** Starts no more requests. Waiting attempts end as `held`. */
  const stopAll = (): void => urls.forEach((url) => stop(url, CLOSING))
  return { sink: reporting(sink), exchange, closedUntil, stop: stopAll }
}

/** The names that are counted: a `route` has one for each key that it ever saw. */
const MAX_NAMES = 500

/** Counts the attempts at each URL, from its first attempt on. */
export const urlCounters = () => {
  const urls = new Map<string, { -readonly [K in keyof UrlStats]: number }>()
  let kept: ReadonlyArray<string> | undefined
  const count = (sink: string, what: keyof UrlStats): void => {
    if (kept?.includes(sink) === false) return
    const counts = urls.get(sink) ?? { delivered: 0, failed: 0, skipped: 0 }
    urls.set(sink, counts)
    counts[what]++
    if (urls.size > MAX_NAMES) {
      const [oldest = ''] = urls.keys()
      urls.delete(oldest)
    }
  }
  return {
    onEvent: (event: LogEvent): void => {
      if (event._tag === 'Attempted') count(event.sink, isLeft(event.result) ? 'failed' : 'delivered')
      else if (event._tag === 'UrlSkipped') count(event.sink, 'skipped')
    },
    /** Counts only these from now on, and forgets the others: a destination may change its URLs for ever. */
    keep: (names: ReadonlyArray<string>): void => {
      kept = names
      for (const name of urls.keys()) if (!names.includes(name)) urls.delete(name)
    },
    stats: () => Object.fromEntries([...urls].map(([name, counts]) => [name, { ...counts }])),
  }
}
