/** Broken versions beside the published ones: each law is broken by one. */
import { isLeft, isRight, left, mapLeft, orElse, right, tryCatch } from 'fp-ts/lib/Either.js'
import { constVoid, flow, identity } from 'fp-ts/lib/function.js'
import { map as mapRecord } from 'fp-ts/lib/Record.js'
import * as t from 'io-ts'
import { EMPTY, NEVER, catchError, concat, defer, filter, finalize, from, ignoreElements } from 'rxjs'
import { lastValueFrom, map, mergeMap, of, onErrorResumeNextWith, skip, take, takeLast, tap } from 'rxjs'
import type { Observable } from 'rxjs'
import { createClient, type Client, type SentBatch } from '../../src/client/index.ts'
import type { Awaitable } from '../../src/core/awaitable.ts'
import { systemClock } from '../../src/core/clock.ts'
import { delivered, isOutcome } from '../../src/core/outcome.ts'
import { batch, contramap, failover, firstSuccess, memoryOutbox } from '../../src/index.ts'
import { onlyAttempt, refused, retryable, sink, toAll } from '../../src/index.ts'
import type {
  Attempt,
  BatchOptions,
  Clock,
  Event,
  Failure,
  Frame,
  KeyedBatchOptions,
} from '../../src/index.ts'
import type { ObservableEither, Outbox, Payload, Sink, Verdict } from '../../src/index.ts'
import { newEntry } from '../../src/outbox/outbox.ts'
import { sign, verifyRaw } from '../../src/signing/index.ts'
import type { NetworkRequest } from '../../src/testing/index.ts'
import * as parts from '../../src/testing/laws/brokenParts.ts'
import type {
  AskedPolicy,
  Batcher,
  Broken,
  ChangeCodec,
  MakeCombination,
} from '../../src/testing/laws/index.ts'
import type { MakeLayer, MakeOutbox, MakePolicy, MakeSink, OpenClient } from '../../src/testing/laws/index.ts'
import type { OpenSharedOutbox, OutboxItem, Signing, SinkItem } from '../../src/testing/laws/index.ts'
import { hmac } from '../../src/testing/laws/signLaws.ts'
import { networkSink } from '../../src/testing/laws/sinkWorld.ts'
import { sharedStore, type SharedStore } from './sharedStore.ts'

const { changed, changing, ending, eventPipeline, inMemory, policyFor, signing, withDelivery } = parts
type Versions<Make> = Readonly<Record<string, Broken<Make>>>

/** Takes each fault with the law that finds it. */
const versions =
  <Make>(room: string) =>
  <Name extends string>(all: Readonly<Record<Name, readonly [law: string, make: Make]>>) =>
    mapRecord(([law, make]: readonly [string, Make]) => ({ breaks: `${room}/${law}`, make }))(all)

const done = () => Promise.resolve()

/** A delivery that a cancel does not reach. */
const uncancelled = (delivery: Observable<Verdict>): Observable<Verdict> =>
  defer(() => lastValueFrom(delivery, { defaultValue: right({ sink: 'cancelled' }) }))
const telling = (change: (verdict: Verdict) => Verdict): MakeSink<SinkItem> =>
  changed((delivery) => delivery.pipe(map(change)))
const sending =
  (change: (request: NetworkRequest) => NetworkRequest): MakeSink<SinkItem> =>
  ({ network, clock }) => {
    const send = async (item: SinkItem, { signal }: { readonly signal: AbortSignal }) => {
      const { status } = await network.request(change({ body: JSON.stringify(item), signal }))
      return new Response(null, { status })
    }
    return sink('network', send, { clock, timeout: 1_000 })
  }
const closing =
  (makeClose: () => () => Promise<void>): MakeSink<SinkItem> =>
  (world) => ({ ...networkSink<SinkItem>(world), close: makeClose() })
const is5xx = (failure: Failure): boolean => 'status' in failure && (failure.status ?? 0) >= 500

export const moreBrokenSinks = versions<MakeSink<SinkItem>>('sink')({
  'starts before it is subscribed': [
    'each-subscription',
    changed((delivery) => from(lastValueFrom(delivery, { defaultValue: right({ sink: 'cancelled' }) }))),
  ],
  'throws in deliver': [
    'one-verdict',
    changed(() => {
      throw new Error('planted')
    }),
  ],
  'cannot be cancelled': ['cancel-aborts', changed(uncancelled)],
  'changes its item': [
    'item-unchanged',
    changed((delivery, item) => delivery.pipe(tap(() => Object.assign(item, { sent: true })))),
  ],
  'completes while a request runs': [
    'completes-last',
    changed((delivery, _, { network }) =>
      delivery.pipe(tap(() => void network.request().catch(() => undefined))),
    ),
  ],
  'drops an item on a 5xx': [
    'delivered-if-accepted',
    telling(orElse((failure) => (is5xx(failure) ? right({ sink: 'network' }) : left(failure)))),
  ],
  'gives up on a 5xx': [
    'failed-is-retryable',
    telling(mapLeft((failure) => (is5xx(failure) ? refused('status') : failure))),
  ],
  'tries again what was refused': ['refused-is-final', telling(mapLeft((): Failure => retryable('status')))],
  'does not read Retry-After': [
    'retry-after',
    telling(mapLeft((failure) => (failure._tag === 'Retryable' ? retryable('status') : failure))),
  ],
  'sends an empty body': ['sends-the-item', sending((given) => ({ ...given, body: '' }))],
  'has one cancel for all deliveries': [
    'independent',
    (world) => {
      const all = new AbortController()
      const { signal } = all
      const abort = finalize<Verdict>(() => all.abort())
      return withDelivery(sending((given) => ({ ...given, signal }))(world), abort)
    },
  ],
  'starts after its deadline': [
    'keeps-deadline',
    changed((delivery, _, { clock }) => defer(() => clock.sleep(30)).pipe(mergeMap(() => delivery))),
  ],
  'leaves a timer': [
    'leaves-no-timer',
    changed((delivery, _, { clock }) => delivery.pipe(tap(() => void clock.schedule(60_000, constVoid)))),
  ],
  'cannot be closed twice': [
    'close',
    closing(() => {
      const once = [Promise.resolve()]
      return () => once.pop() ?? Promise.reject(new Error('planted'))
    }),
  ],
  'never closes': ['close', closing(() => () => new Promise(constVoid))],
})

export const moreBrokenLayers = versions<MakeLayer>('layer')({
  'counts each attempt as the first': [
    'passes-in-a-pipeline',
    () => (inner) => ({ ...inner, deliver: (item, given) => inner.deliver(item, { ...given, number: 1 }) }),
  ],
  'does not pass a cancel on': ['passes-cancel', () => (inner) => withDelivery(inner, uncancelled)],
  'has a name of its own': ['keeps-name', () => (inner) => ({ ...inner, name: 'layer' })],
  'does not close the sink inside': ['passes-close', () => (inner) => ({ ...inner, close: done })],
  'leaves a timer': [
    'leaves-no-timer',
    ({ clock }) =>
      (inner) =>
        withDelivery(inner, tap({ subscribe: () => void clock.schedule(60_000, constVoid) })),
  ],
})

const first: MakeCombination = (sinks, clock) => firstSuccess(sinks, { clock })
const inTurn: MakeCombination = (sinks, clock) => failover(sinks, { clock })
const all: MakeCombination = (sinks, clock) => toAll(sinks, { clock })
const attempting =
  (make: MakeCombination, change: Partial<Attempt>): MakeCombination =>
  (sinks, clock) => {
    const { name, deliver, close } = make(sinks, clock)
    return { name, deliver: (item, attempt) => deliver(item, { ...attempt, ...change }), close }
  }

/** Faults that each combination may have. */
const faultsOf = (room: string, make: MakeCombination) => {
  const made =
    (change: (made: Sink<string>) => Sink<string>): MakeCombination =>
    (sinks, clock) =>
      change(make(sinks, clock))
  return versions<MakeCombination>(room)({
    [`as ${room}, forgets what failed before`]: ['asks', attempting(make, { lastFailure: undefined })],
    [`as ${room}, tells its verdict at the end`]: ['verdict', made((all) => withDelivery(all, takeLast(1)))],
    [`as ${room}, aborts the others at its verdict`]: [
      'completes',
      made((all) => withDelivery(all, take(1))),
    ],
    [`as ${room}, does not close its sinks`]: ['closes', made((all) => ({ ...all, close: done }))],
  })
}

export const brokenCombinations: Versions<MakeCombination> = {
  ...faultsOf('first-success', first),
  ...faultsOf('failover', inTurn),
  ...faultsOf('to-all', all),
  ...versions<MakeCombination>('first-success')({
    'as first-success, asks in turn': ['asks', inTurn],
    'as first-success, does not obey Retry-After': [
      'asks',
      (sinks, clock) => first(sinks, { ...clock, now: () => clock.now() + 1_000_000 }),
    ],
  }),
  ...versions<MakeCombination>('failover')({
    'as failover, asks all at the same time': ['asks', first],
    'as failover, knows no deadline': ['asks', attempting(inTurn, { until: Infinity })],
  }),
  ...versions<MakeCombination>('to-all')({ 'as to-all, is content with one success': ['verdict', first] }),
}

const textOf = (body: string | Uint8Array): string =>
  typeof body === 'string' ? body : Buffer.from(body).toString()
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
const signingAs = (change: (text: string) => string): Signing =>
  signing({ sign: (secret, body) => sign(secret, typeof body === 'string' ? change(body) : body) })

export const moreBrokenSigners = versions<Signing>('sign')({
  'signs the first 64 KB': ['is-hmac-sha1', signingAs((text) => text.slice(0, 65_536))],
  'does not look at white space around the body': [
    'each-bit-counts',
    accepting((signature, _, body, secret = '') => hmac(secret, body.trim()) === signature),
  ],
  'compares only the first digits': [
    'each-bit-counts',
    accepting((signature, good) => good.slice(0, 16) === signature.slice(0, 16)),
  ],
  'trims a secret': ['bad-secret', signing({ sign: (secret, body) => sign(secret.trim(), body) })],
  'verifies with an empty secret': [
    'bad-secret',
    accepting((signature, good, _, secret) => secret === '' && signature === good),
  ],
  'verifies with an empty list of secrets': ['bad-secret', accepting((_, __, ___, key) => key === undefined)],
  'decodes the digits, which drops a bad tail': [
    'malformed-signature',
    accepting((signature, good) => Buffer.from(signature, 'hex').equals(Buffer.from(good, 'hex'))),
  ],
  'throws for a signature that is no text': [
    'malformed-signature',
    signing({ verifyRaw: (keys, body, given) => verifyRaw(keys, body, (given as string).trim()) }),
  ],
})

/** A durable outbox: each change writes all that it holds to a new file, which replaces the old one when it is synced. */
export const files =
  (syncs = true): MakeOutbox =>
  async ({ clock, bounds, disk }) => {
    const paths = await disk.list()
    if (paths.includes('new')) await disk.remove('new')
    const from = paths.includes('store') ? String(await disk.read('store')) : undefined
    const sizeOf = ({ byteLength }: OutboxItem): number => byteLength
    const store = sharedStore<OutboxItem>(clock, { ...bounds, sizeOf, from })
    const { outbox } = store.open()
    const stored = async <T>(answer: Awaitable<T>): Promise<T> => {
      const given = await answer
      await disk.append('new', store.text())
      if (syncs) await disk.sync('new')
      await disk.rename('new', 'store')
      return given
    }
    return {
      ...outbox,
      enqueue: (items) => stored(outbox.enqueue(items)),
      nack: (list) => stored(outbox.nack(list)),
      ack: (list) => stored(outbox.ack(list)),
      addDeadLetter: (item, outcome) => stored(outbox.addDeadLetter?.(item, outcome)),
      dead: {
        list: outbox.dead.list,
        redrive: (matches) => stored(outbox.dead.redrive(matches)),
        purge: (matches) => stored(outbox.dead.purge(matches)),
      },
    }
  }

export const moreBrokenOutboxes = versions<MakeOutbox>('outbox')({
  'throws for an empty list': [
    'answers',
    inMemory(({ enqueue }) => ({
      enqueue: (items) =>
        items.length > 0 ? enqueue(items) : Promise.reject(new Error('nothing to insert')),
    })),
  ],
  'leases before the due time': [
    'order',
    inMemory(({ lease }) => ({ lease: (now, limits) => lease(now + 1_000, limits) })),
  ],
  'ignores retriesOnly': [
    'order',
    inMemory(({ lease }) => ({ lease: (now, limits) => lease(now, { ...limits, retriesOnly: false }) })),
  ],
  'forgets the progress': [
    'remembers',
    inMemory(({ nack }) => ({
      nack: (list) => nack(list.map(({ entry, due }) => ({ entry: { ...entry, progress: undefined }, due }))),
    })),
  ],
  'takes one more than its bound': [
    'bounds',
    ({ clock, bounds }) => {
      const outbox = memoryOutbox<OutboxItem>({ ...bounds, maxCount: bounds.maxCount + 1, clock })
      return { ...outbox, stats: () => ({ ...outbox.stats(), maxCount: bounds.maxCount }) }
    },
  ],
  'says a wrong due time': [
    'wakes',
    inMemory(({ nextDue }) => ({ nextDue: (only) => (only === true ? nextDue(true) : undefined) })),
  ],
  'lists dead letters backwards': [
    'dead',
    inMemory(({ dead }) => ({
      dead: { ...dead, list: async (page) => [...(await dead.list(page))].reverse() },
    })),
  ],
  'redrives nothing': ['redrives', inMemory(({ dead }) => ({ dead: { ...dead, redrive: () => 0 } }))],
  'buries again at a repeated ack': [
    'repeats',
    inMemory(({ ack, addDeadLetter }) => {
      const ended = new Set<string>()
      return {
        ack: async (list) => {
          const again = list.filter(({ entry }) => ended.has(entry.id))
          for (const { entry, outcome } of again) await addDeadLetter?.(entry.item, outcome)
          for (const { entry } of list) ended.add(entry.id)
          await ack(list)
        },
      }
    }),
  ],
  'keeps what it should hand back': ['remaining', inMemory(() => ({ takeRemaining: () => [] }))],
  'does not sync': ['survives', files(false)],
})

/** A store in memory, by the clock of its run. `change` is done to each view. `leaseTime`: other than it should be. */
export const sharedInMemory = (
  change: (outbox: Outbox<number>) => Outbox<number> = identity,
  leaseTime?: number,
): OpenSharedOutbox => {
  const stores = new WeakMap<Clock, SharedStore<number>>()
  return ({ clock, ...world }) => {
    const store =
      stores.get(clock) ?? sharedStore(clock, { ...world, leaseTime: leaseTime ?? world.leaseTime })
    stores.set(clock, store)
    const { outbox, kill } = store.open()
    return { outbox: change(outbox), kill }
  }
}

export const brokenSharedOutboxes = versions<OpenSharedOutbox>('shared-outbox')({
  'tells no process that another one changed it': [
    'leaves-nothing',
    sharedInMemory(({ watch: _, ...outbox }) => outbox),
  ],
  'forgets the progress': [
    'keeps-progress',
    sharedInMemory((outbox) => ({
      ...outbox,
      nack: (list) =>
        outbox.nack(list.map(({ due, entry }) => ({ due, entry: { ...entry, progress: undefined } }))),
    })),
  ],
  'loses an item that it accepts': [
    'ends-once',
    sharedInMemory((outbox) => ({
      ...outbox,
      enqueue: (items) => items.map((item) => right(newEntry(`lost ${String(item)}`, item))),
    })),
  ],
  'ends the leases of a killed process too soon': ['one-at-a-time', sharedInMemory(identity, 1_000)],
})

export const moreBrokenPipelines = versions<parts.Events>('pipeline')({
  'calls a rejected item delivered': [
    'tells-the-truth',
    ending(map((end) => (end._tag === 'Rejected' ? delivered(end.item, 1, { sink: 'laws' }) : end))),
  ],
  'gives up when the first of two sinks refuses': [
    'tells-the-truth',
    (source$, inner, world) => eventPipeline(source$, world.sinks(2)[0] ?? inner, world),
  ],
  'sends an item once more after its end': [
    'sends-again-in-doubt-only',
    (source$, inner, world) =>
      eventPipeline(source$, inner, world).pipe(
        mergeMap((end) => {
          if (!isOutcome(end)) return of(end)
          // Only payloads go into its deliver.
          const again$ = inner.deliver(end.item as Payload<Event>, onlyAttempt)
          return concat(of(end), again$.pipe(ignoreElements(), onErrorResumeNextWith()))
        }),
      ),
  ],
  'promises an order that it does not keep': ['keeps-order', eventPipeline],
})

/** Asks for other options. */
const batching =
  (change: (options: Omit<BatchOptions, 'by'>, clock: Clock) => Omit<BatchOptions, 'by'>): Batcher =>
  (options) =>
    batch({ ...options, ...change(options, options.clock ?? systemClock) })
/** Takes another source. */
const over =
  (change: <L, A>(source: ObservableEither<L, A>) => ObservableEither<L, A>): Batcher =>
  <A>(options: KeyedBatchOptions<Frame, A>) =>
  <L>(source: ObservableEither<L, Payload<A>>) =>
    batch(options)(change(source))

export const moreBrokenBatchers = versions<Batcher>('batch')({
  'loses the first item': ['nothing-lost', over((source) => source.pipe(skip(1)))],
  'hands nothing back at an unsubscription': [
    'nothing-stays-behind',
    batching(() => ({ abandoned: constVoid })),
  ],
  'loses the rest on completion': ['nothing-stays-behind', over((source) => concat(source, NEVER))],
  'leaves out the frame': ['size-is-exact', batching(() => ({ frame: { prefix: '', suffix: '' } }))],
  'waits for one item more than it may take': [
    'no-needless-wait',
    batching(({ maxCount = 20 }) => ({ maxCount: maxCount + 1 })),
  ],
  'ignores delayFrom': ['closes-for-its-cause', batching(() => ({ delayFrom: 'firstItem' }))],
  'opens one key too many': ['one-key', batching(({ maxKeys = 1_000 }) => ({ maxKeys: maxKeys + 1 }))],
  'completes in the place of an error': ['ends-once', over((source) => source.pipe(catchError(() => EMPTY)))],
  'leaves its timer behind': [
    'one-timer',
    batching((_, clock) => ({ clock: { ...clock, schedule: flow(clock.schedule, () => constVoid) } })),
  ],
  'measures by the wall clock': [
    'wall-clock-is-free',
    batching((_, clock) => ({ clock: { ...clock, monotonic: clock.now } })),
  ],
  'emits within an emission': [
    'no-emission-within-another',
    <A>(options: KeyedBatchOptions<Frame, A>) =>
      <L>(source: ObservableEither<L, Payload<A>>) =>
        source.pipe(mergeMap((each) => batch(options)(of(each)))),
  ],
  'drops what has ended already': [
    'passes-what-fits-no-batch',
    over((source) => source.pipe(filter(isRight))),
  ],
})

const asking =
  (change: (asked: AskedPolicy) => Partial<AskedPolicy>): MakePolicy =>
  (asked) =>
    policyFor({ ...asked, ...change(asked) })

export const moreBrokenPolicies = versions<MakePolicy>('policy')({
  'leaves out the maximum delay': ['backoff-within-its-bounds', asking(() => ({ maxDelay: null }))],
  'starts an attempt at the deadline': [
    'gives-up-in-time',
    asking(({ within }) => ({ within: within && within + 1 })),
  ],
})

let seen = 0

export const moreBrokenCodecs = versions<ChangeCodec>('codec')({
  'writes another text each time': [
    'encoding-is-stable',
    changing((codec) => ({ encode: (value) => ({ ...codec.encode(value), seen: seen++ }) })),
  ],
  'says yes to anything': ['is-agrees-with-decode', changing(() => ({ is: (_): _ is never => true }))],
  'names no place': [
    'faults-name-their-place',
    changing((codec) => ({
      validate: (input, context) =>
        isLeft(codec.decode(input)) ? t.failure(input, context, 'wrong') : codec.validate(input, context),
    })),
  ],
  'throws for what is no object': [
    'never-throws',
    changing((codec) => ({
      validate: (input, context) => {
        Object.keys(input as object)
        return codec.validate(input, context)
      },
    })),
  ],
})

const open: OpenClient = (options) => createClient('a key', options)
const altering =
  (change: (client: Client) => Partial<Client>): OpenClient =>
  (options) => {
    const client = open(options)
    return { ...client, ...change(client) }
  }

export const brokenClients = versions<OpenClient>('client')({
  'keeps a rejection to itself': [
    'ends-once',
    altering(({ outcomes$ }) => ({ outcomes$: outcomes$.pipe(filter(({ _tag }) => _tag !== 'Rejected')) })),
  ],
  'counts what it refuses as accepted': [
    'adds-up',
    altering(({ stats }) => ({
      stats: () => ({ ...stats(), accepted: stats().accepted + stats().refused }),
    })),
  ],
  'puts too many messages into a batch': [
    'keeps-limits',
    ({ size = 20, ...options }) => open({ ...options, size: size + 1 }),
  ],
  'reverses its batches': [
    'keeps-order',
    ({ sink: inner, ...options }) => {
      const reversed = (each: SentBatch): SentBatch => ({ ...each, members: each.members.toReversed() })
      return open({ ...options, ...(inner && { sink: contramap(reversed)(inner) }) })
    },
  ],
  'hands nothing back': [
    'closes',
    altering(({ close }) => ({ close: async (options) => ({ ...(await close(options)), abandoned: [] }) })),
  ],
  'flushes nothing': ['flushes', altering(({ stats }) => ({ flush: () => Promise.resolve(stats()) }))],
})
