/**
 * Parts with one fault each, to see a law find it, and to test laws of your own.
 *
 * @module
 */
import * as t from 'io-ts'
import { NEVER, concat, filter, mergeMap, takeLast, type Observable } from 'rxjs'
import type { Verdict } from '../../core/failure.ts'
import { isRecord } from '../../core/json.ts'
import { dropped } from '../../core/outcome.ts'
import { Event } from '../../event/event.ts'
import type { Payload } from '../../event/payload.ts'
import { toWebhookBody } from '../../event/webhookBody.ts'
import { batch } from '../../operators/batch.ts'
import { deliver } from '../../operators/deliver.ts'
import { encode } from '../../operators/encode.ts'
import { validate } from '../../operators/validate.ts'
import { memoryOutbox } from '../../outbox/memoryOutbox.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import { always, both, capDelay, deadline, exponential, fullJitter } from '../../policy/retryPolicy.ts'
import { limitRetries, respectRetryAfter, type RetryPolicy } from '../../policy/retryPolicy.ts'
import { signatureOf } from '../../signing/secret.ts'
import { verifyParsed, verifyRaw } from '../../signing/verify.ts'
import { onlyAttempt, type Sink } from '../../sink/sink.ts'
import type { World } from '../simulate.ts'
import type { Batcher } from './batchWorld.ts'
import { brokenVersions } from './law.ts'
import type { MakeLayer } from './layerLaws.ts'
import type { MakeOutbox, OutboxItem } from './outboxWorld.ts'
import type { Pipeline } from './pipelineLaws.ts'
import type { AskedPolicy, MakePolicy } from './policyLaws.ts'
import type { Signing } from './signLaws.ts'
import { networkSink, type MakeSink, type SinkItem } from './sinkWorld.ts'

type DeliveryStream = Observable<Verdict>

export const withDelivery = <A>(
  { name, deliver, close }: Sink<A>,
  change: (delivery: DeliveryStream, item: A) => DeliveryStream,
): Sink<A> => ({ name, deliver: (item, attempt) => change(deliver(item, attempt), item), close })

export const changedSink =
  (change: (delivery: DeliveryStream, item: SinkItem, world: World) => DeliveryStream): MakeSink<SinkItem> =>
  (world) =>
    withDelivery(networkSink<SinkItem>(world), (delivery, item) => change(delivery, item, world))

export const inMemory =
  (change: (outbox: Outbox<OutboxItem>) => Partial<Outbox<OutboxItem>>): MakeOutbox =>
  ({ clock, bounds }) => {
    const outbox = memoryOutbox<OutboxItem>({ ...bounds, clock })
    return { ...outbox, ...change(outbox) }
  }

export type Events = Pipeline<Payload<Event>>
type End = ReturnType<Events> extends Observable<infer A> ? A : never

/** A pipeline that keeps the laws. */
export const eventPipeline: Events = (source$, sink, { clock, random }) =>
  source$.pipe(validate(Event), encode(toWebhookBody), deliver(sink, { clock, random }))

export const ending =
  (change: (end$: Observable<End>) => Observable<End>): Events =>
  (...given) =>
    change(eventPipeline(...given))

/** The policy of headrace's parts that keeps the promises. */
export const policyFor = (asked: AskedPolicy): RetryPolicy => {
  const { base, factor, maxDelay, jitter, maxRetries, within, retryAfter } = asked
  const growing = exponential({ base, factor })
  const capped = maxDelay === null ? growing : capDelay(maxDelay)(growing)
  return [
    maxRetries === null ? always : limitRetries(maxRetries),
    within === null ? always : deadline(within),
    retryAfter ? respectRetryAfter : always,
  ].reduce(both, jitter ? fullJitter(capped) : capped)
}

export const signing = (change: Partial<Signing>): Signing => {
  return { sign: signatureOf, verifyRaw, verifyParsed, ...change }
}

/** Makes a codec of a sound one. */
export type ChangeCodec = <A, O>(codec: t.Type<A, O>) => t.Type<A, O>

type CodecChange = <A, O>(codec: t.Type<A, O>) => Partial<Pick<t.Type<A, O>, 'is' | 'validate' | 'encode'>>

export const changing =
  (change: CodecChange): ChangeCodec =>
  (codec) => {
    const { is = codec.is, validate = codec.validate, encode = codec.encode } = change(codec)
    return new t.Type(codec.name, is, validate, encode)
  }

/**
 * Versions that are wrong in one way each, for each kind of part, and the law that finds each.
 *
 * @example
 * import { broken, outboxLaws, reportOf } from 'headrace/testing/laws'
 *
 * const { make, breaks } = broken.outboxes['loses what it is given back']
 * const law = outboxLaws(make).find(({ id }) => id === breaks)
 * if (law !== undefined) console.log((await reportOf(law, { seed: 1 })).result) // => broken
 */
export const broken = {
  sinks: brokenVersions<MakeSink<SinkItem>>()({
    'never completes': { breaks: 'sink/settles', make: changedSink((delivery) => concat(delivery, NEVER)) },
    'emits two verdicts': {
      breaks: 'sink/one-verdict',
      make: changedSink((delivery) => delivery.pipe(mergeMap((verdict) => [verdict, verdict]))),
    },
  }),
  /** Layers. */
  layers: brokenVersions<MakeLayer>()({
    'forgets the attempt': {
      breaks: 'layer/passes-attempt',
      make:
        () =>
        ({ name, deliver, close }) => ({ name, deliver: (item) => deliver(item, onlyAttempt), close }),
    },
    'tells its verdict at the end': {
      breaks: 'layer/passes-verdict',
      make: () => (sink) => withDelivery(sink, (delivery) => delivery.pipe(takeLast(1))),
    },
  }),
  outboxes: brokenVersions<MakeOutbox>()({
    'loses what it is given back': {
      breaks: 'outbox/stats',
      make: inMemory(({ ack }) => ({
        nack: (all) =>
          ack(all.map(({ entry }) => ({ entry, outcome: dropped(entry.item, 1, 'dropOldest') }))),
      })),
    },
    'leases twice': {
      breaks: 'outbox/once',
      make: inMemory(({ lease }) => ({
        lease: async (...args) => (await lease(...args)).flatMap((entry) => [entry, entry]),
      })),
    },
  }),
  /** They take the input of `validate(Event)`. */
  pipelines: brokenVersions<Events>()({
    'loses what the sink refuses': {
      breaks: 'pipeline/ends-once',
      make: ending(filter(({ _tag }) => _tag !== 'Rejected')),
    },
    'never completes': { breaks: 'pipeline/completes', make: ending((end$) => concat(end$, NEVER)) },
  }),
  batchers: brokenVersions<Batcher>()({
    'takes all keys for one': {
      breaks: 'batch/one-key',
      make: (options) => batch({ ...options, by: () => 'one' }),
    },
    'takes one byte too many': {
      breaks: 'batch/size-is-exact',
      make: ({ maxBytes = 500_000, ...options }) => batch({ ...options, maxBytes: maxBytes + 1 }),
    },
  }),
  /** Retry policies. */
  policies: brokenVersions<MakePolicy>()({
    'leaves out the jitter': {
      breaks: 'policy/backoff-within-its-bounds',
      make: (asked) => policyFor({ ...asked, jitter: false }),
    },
    'ignores Retry-After': {
      breaks: 'policy/due-when-both-allow-it',
      make: (asked) => policyFor({ ...asked, retryAfter: false }),
    },
  }),
  signers: brokenVersions<Signing>()({
    'signs in upper case': {
      breaks: 'sign/is-hmac-sha1',
      make: signing({ sign: (secret, body) => signatureOf(secret, body).toUpperCase() }),
    },
    'tries the first secret only': {
      breaks: 'sign/round-trip',
      make: signing({ verifyRaw: (secrets, ...rest) => verifyRaw([secrets].flat().slice(0, 1), ...rest) }),
    },
  }),
  /** Of sound codecs whose values are objects. */
  codecs: brokenVersions<ChangeCodec>()({
    'loses a member': {
      breaks: 'codec/round-trip',
      make: changing((codec) => ({
        // The fault: the output does not have its type.
        encode: (value) =>
          Object.fromEntries(Object.entries(codec.encode(value) as object).slice(1)) as never,
      })),
    },
    'marks its input': {
      breaks: 'codec/input-stays',
      make: changing((codec) => ({
        validate: (input, context) => {
          if (isRecord(input)) Object.assign(input, { seen: true })
          return codec.validate(input, context)
        },
      })),
    },
  }),
}
