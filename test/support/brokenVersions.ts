/** Broken versions beside the published ones: each law is broken by one. */
import { isLeft, isRight, left, mapLeft, right, tryCatch } from 'fp-ts/lib/Either.js'
import { constVoid, flow, identity } from 'fp-ts/lib/function.js'
import * as t from 'io-ts'
import { EMPTY, NEVER, catchError, concat, defer, filter, finalize, from, ignoreElements, map } from 'rxjs'
import { Observable, lastValueFrom, merge, mergeMap, of, skip, take, takeLast, takeUntil, tap } from 'rxjs'
import { createClient, type SentBatch } from '../../src/client/index.ts'
import { batch, contramap, deliver, encode, failover, firstSuccess, refused } from '../../src/index.ts'
import { memoryOutbox, type Entry, type Outbox } from '../../src/outbox/index.ts'
import { mapRight, retryable, sink, toAll, systemClock, validate, withDedupe } from '../../src/index.ts'
import type { Attempt, BatchOptions, Clock, Failure, KeyedBatchOptions } from '../../src/index.ts'
import type { ObservableEither, Payload, Sink, Verdict } from '../../src/index.ts'
import { Event, toWebhookBody, type Frame } from '../../src/event/index.ts'
import type { Awaitable } from '../../src/core/awaitable.ts'
import { delivered, dropped } from '../../src/core/outcome.ts'
import { newId } from '../../src/event/payload.ts'
import { newEntry } from '../../src/outbox/outbox.ts'
import { clockOf } from '../../src/sink/sink.ts'
import { signatureOf, verifyRaw } from '../../src/signing/index.ts'
import * as parts from '../../src/testing/laws/brokenParts.ts'
import type { AskedPolicy, MakePolicy } from '../../src/testing/laws/policyLaws.ts'
import type { Batcher, Broken, OutboxItem, Signing, SinkItem } from '../../src/testing/laws/index.ts'
import type { ChangeCodec } from '../../src/testing/laws/brokenParts.ts'
import type { MakeCombination } from '../../src/testing/laws/combinatorLaws.ts'
import type { MakeLayer } from '../../src/testing/laws/layerLaws.ts'
import { networkSink, type MakeSink } from '../../src/testing/laws/sinkWorld.ts'
import type { OpenClient } from '../../src/testing/laws/clientLaws.ts'
import { hmac } from '../../src/testing/laws/signLaws.ts'
import { altering } from './mutants.ts'
import { sharedStore, type SharedStore } from './sharedStore.ts'
import type { MakeOutbox, OutboxLawOptions, OpenSharedOutbox } from '../../src/testing/laws/index.ts'
import { throwing } from './check.ts'

const { changedSink, changing, ending, eventPipeline, inMemory, policyFor, signing, withDelivery } = parts
type Versions<Make> = Readonly<Record<string, Broken<Make>>>
type Fault<Key> = Key extends `${string}: ${infer Name}` ? Name : never

/** Takes a list whole of which a part failed. */
const takingParts = map((each: Verdict) =>
  isLeft(each) && each.left._tag === 'PartlyFailed' ? right({ sink: 'laws' }) : each,
)

/** The keys name the law that finds it, and the fault. */
const versions =
  <Make>(room: string) =>
  <Key extends string>(all: Readonly<Record<Key, Make>>) =>
    Object.fromEntries(
      Object.entries<Make>(all).map(([key, make]) => {
        const [law = '', fault = ''] = key.split(/: /)
        return [fault, { breaks: `${room}/${law}`, make }]
      }),
    ) as Readonly<Record<Fault<Key>, Broken<Make>>> // The keys are cut as in the type.

const done = () => Promise.resolve()

const uncancelled = (delivery: Observable<Verdict>): Observable<Verdict> =>
  defer(() => lastValueFrom(delivery, { defaultValue: right({ sink: 'cancelled' }) }))
/** It starts in a microtask, also if it is cancelled before. */
const late = (delivery: Observable<Verdict>): Observable<Verdict> =>
  new Observable((subscriber) => void done().then(() => delivery.subscribe(subscriber)))
/** Answers `verdict` when `slots` are taken. `leaks`: an end that frees none. */
const inSlots = (slots: number, verdict: Verdict, leaks?: 'unsubscribe' | 'error') => {
  let taken = 0
  const free = () => taken--
  const ends = { unsubscribe: free, error: free, complete: free, ...(leaks && { [leaks]: constVoid }) }
  return (delivery: Observable<Verdict>) =>
    defer(() => (taken >= slots ? of(verdict) : (taken++, delivery.pipe(tap<Verdict>(ends)))))
}
const telling = (change: (verdict: Verdict) => Verdict): MakeSink<SinkItem> =>
  changedSink((delivery) => delivery.pipe(map(change)))
type Post = (item: unknown, signal: AbortSignal) => Promise<unknown>
const posting =
  (change: (post: Post) => Post): MakeSink<SinkItem> =>
  ({ network }) => {
    const post = change((item, signal) => network.request({ body: JSON.stringify(item), signal }))
    return sink('network', (item, { signal }) => post(item, signal), { timeout: 1_000 })
  }
const closing =
  (makeClose: () => Sink<unknown>['close']): MakeSink<SinkItem> =>
  (world) => ({ ...networkSink<SinkItem>(world), close: makeClose() })
const on5xx = (verdict: Verdict): MakeSink<SinkItem> =>
  telling((given) =>
    isLeft(given) && 'status' in given.left && (given.left.status ?? 0) >= 500 ? verdict : given,
  )

const duplicate: Verdict = right({ sink: 'network', duplicate: true })
export const moreBrokenSinks = versions<MakeSink<SinkItem>>('sink')({
  'each-subscription: starts before it is subscribed': changedSink((delivery) =>
    from(lastValueFrom(delivery, { defaultValue: right({ sink: 'cancelled' }) })),
  ),
  'one-verdict: throws in deliver': changedSink(throwing('planted')),
  'cancel-aborts: cannot be cancelled': changedSink(uncancelled),
  'item-unchanged: changes its item': changedSink((delivery, item) =>
    delivery.pipe(tap(() => Object.assign(item, { sent: true }))),
  ),
  'completes-last: completes while a request runs': changedSink((delivery, _, { network }) =>
    delivery.pipe(tap(() => void network.request().catch(() => undefined))),
  ),
  'delivered-if-accepted: drops an item on a 5xx': on5xx(right({ sink: 'network' })),
  'failed-is-retryable: gives up on a 5xx': on5xx(left(refused('status'))),
  'refused-is-final: tries again what was refused': telling(mapLeft((): Failure => retryable('status'))),
  'refused-is-final: gives up an item that comes while three others run': (world) =>
    withDelivery(networkSink<SinkItem>(world), inSlots(3, left(refused('busy')))),
  'retry-after: does not read Retry-After': telling(
    mapLeft((failure) => (failure._tag === 'Retryable' ? retryable('status') : failure)),
  ),
  'sends-the-item: sends the last of several items': posting((post) => {
    let last: unknown
    return async (item, signal) => {
      last = item
      await done()
      return post(last, signal)
    }
  }),
  'delivered-if-accepted: takes what it tries for a duplicate': on5xx(duplicate),
  'delivered-if-accepted: takes each item for a repeat of the first': (world) =>
    withDedupe<SinkItem>({ keyOf: () => 'one', keyTimeout: 3_600_000 })(networkSink(world)),
  'delivered-if-accepted: tries again what was accepted while others ran': changedSink(
    (delivery, _, { network }) =>
      delivery.pipe(map((given) => (network.running() > 0 ? left(retryable('status')) : given))),
  ),
  'sends-the-item: sends an empty body': posting((post) => (_, signal) => post(undefined, signal)),
  'independent: gives up for ever after three failures': (world) => {
    let failures = 0
    const counted = (delivery: Observable<Verdict>) => delivery.pipe(tap((one) => isLeft(one) && failures++))
    const inner = withDelivery(networkSink<SinkItem>(world), counted)
    const no = () => of(left(retryable('network')))
    return { ...inner, deliver: (...given) => (failures < 3 ? inner.deliver(...given) : no()) }
  },
  'independent: has one cancel for all deliveries': (world) => {
    const all = new AbortController()
    const { signal } = all
    const abort = finalize<Verdict>(() => all.abort())
    return withDelivery(posting((post) => (item) => post(item, signal))(world), abort)
  },
  'keeps-deadline: starts after its deadline': changedSink((delivery, _, { clock }) =>
    defer(() => clock.sleep(30)).pipe(mergeMap(() => delivery)),
  ),
  'keeps-deadline: sends one after the other': posting((post) => {
    let last: Promise<unknown> = Promise.resolve()
    return (...given) => (last = last.catch(constVoid).then(() => post(...given)))
  }),
  'leaves-no-timer: leaves a timer': changedSink((delivery, _, { clock }) =>
    delivery.pipe(tap(() => void clock.schedule(60_000, constVoid))),
  ),
  'failed-is-retryable: asks to wait for ever': on5xx(left(retryable('status', { notBefore: Infinity }))),
  'one-verdict: has no second attempt': (world) => {
    const { deliver, ...rest } = networkSink<SinkItem>(world)
    return { ...rest, deliver: (item, given) => (given.number > 1 ? EMPTY : deliver(item, given)) }
  },
  'close: cannot be closed twice': closing(() => {
    const once = [Promise.resolve()]
    return () => once.pop() ?? Promise.reject(new Error('planted'))
  }),
  'close: waits without a limit for what runs': (world) => {
    let running = 0
    const counted = (delivery: Observable<Verdict>) =>
      defer(() => (running++, delivery)).pipe(finalize(() => running--))
    const close = () => (running === 0 ? done() : new Promise<void>(constVoid))
    return { ...withDelivery(networkSink<SinkItem>(world), counted), close }
  },
  'close: never closes': closing(() => () => new Promise(constVoid)),
  'close: never closes without a limit': closing(() => (given) => {
    return given?.timeout === undefined ? new Promise(constVoid) : Promise.resolve()
  }),
})

const attempted =
  (change: Partial<Attempt>): MakeLayer =>
  () =>
  (inner) => ({ ...inner, deliver: (item, given) => inner.deliver(item, { ...given, ...change }) })
const sixSlots = (leaks: 'unsubscribe' | 'error') => inSlots(6, left(retryable('full')), leaks)

export const moreBrokenLayers = versions<MakeLayer>('layer')({
  'passes-attempt: drops the headers': attempted({ headers: undefined }),
  'passes-attempt: drops the listener': attempted({ report: undefined }),
  'passes-attempt: drops the name of the part': attempted({ from: undefined }),
  'passes-verdict: has six slots, and loses one at each cancel': () => (inner) =>
    withDelivery(inner, sixSlots('unsubscribe')),
  'passes-verdict: has six slots, and loses one at each defect': () => (inner) =>
    withDelivery(inner, sixSlots('error')),
  'passes-cancel: starts late, also after a cancel': () => (inner) => withDelivery(inner, late),
  'passes-in-a-pipeline: counts each attempt as the first': attempted({ number: 1 }),
  'separates-clocks: keeps the clock of its first delivery': () => {
    let clock: Clock | undefined
    const over$ = new Observable((over) => clock?.schedule(30_000, () => over.next(undefined)))
    return (inner) => ({
      ...inner,
      deliver: (item, attempt) => {
        clock ??= attempt.clock
        return inner.deliver(item, attempt).pipe(takeUntil(over$))
      },
    })
  },
  'passes-cancel: does not pass a cancel on': () => (inner) => withDelivery(inner, uncancelled),
  'keeps-name: has a name of its own': () => (inner) => ({ ...inner, name: 'layer' }),
  'passes-close: does not close the sink inside': () => (inner) => ({ ...inner, close: done }),
  'leaves-no-timer: leaves a timer':
    ({ clock }) =>
    (inner) =>
      withDelivery(inner, tap({ subscribe: () => void clock.schedule(60_000, constVoid) })),
})

const first: MakeCombination = (sinks) => firstSuccess(sinks)
const inTurn: MakeCombination = (sinks) => failover(sinks)
const all: MakeCombination = (sinks) => toAll(sinks)
const attempting =
  (make: MakeCombination, change: (attempt: Attempt) => Partial<Attempt>): MakeCombination =>
  (sinks) => {
    const { name, deliver, close } = make(sinks)
    return { name, deliver: (item, attempt) => deliver(item, { ...attempt, ...change(attempt) }), close }
  }

const faultsOf = (room: string, make: MakeCombination) => {
  const made =
    (change: (made: Sink<string>) => Sink<string>): MakeCombination =>
    (sinks) =>
      change(make(sinks))
  return versions<MakeCombination>(room)({
    [`asks: as ${room}, forgets what failed before`]: attempting(make, () => ({ lastFailure: undefined })),
    [`verdict: as ${room}, tells its verdict at the end`]: made((all) => withDelivery(all, takeLast(1))),
    [`completes: as ${room}, aborts the others at its verdict`]: made((all) => withDelivery(all, take(1))),
    [`cancels: as ${room}, cannot be cancelled`]: made((all) => withDelivery(all, uncancelled)),
    [`closes: as ${room}, does not close its sinks`]: made((all) => ({ ...all, close: done })),
  })
}

export const brokenCombinations: Versions<MakeCombination> = {
  ...faultsOf('first-success', first),
  ...faultsOf('failover', inTurn),
  ...faultsOf('to-all', all),
  ...versions<MakeCombination>('first-success')({
    'asks: as first-success, asks in turn': inTurn,
    'asks: as first-success, does not obey Retry-After': attempting(first, (attempt) => {
      const clock = clockOf(attempt)
      return { clock: { ...clock, now: () => clock.now() + 1_000_000 } }
    }),
  }),
  ...versions<MakeCombination>('failover')({
    'asks: as failover, asks all at the same time': first,
    'asks: as failover, knows no deadline': attempting(inTurn, () => ({ until: Infinity })),
  }),
  ...versions<MakeCombination>('to-all')({ 'verdict: as to-all, is content with one success': first }),
}

const textOf = (body: string | Uint8Array) => (typeof body === 'string' ? body : Buffer.from(body).toString())
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
  signing({ sign: (secret, body) => signatureOf(secret, typeof body === 'string' ? change(body) : body) })

export const moreBrokenSigners = versions<Signing>('sign')({
  'is-hmac-sha1: signs the first 64 KB': signingAs((text) => text.slice(0, 65_536)),
  'each-bit-counts: does not look at white space around the body': accepting(
    (signature, _, body, secret = '') => hmac(secret, body.trim()) === signature,
  ),
  'each-bit-counts: compares only the first digits': accepting(
    (signature, good) => good.slice(0, 16) === signature.slice(0, 16),
  ),
  'malformed-signature: compares as much as there is': accepting((some, good) => good.startsWith(some)),
  'malformed-signature: accepts an empty one': accepting((signature) => signature === ''),
  'bad-secret: trims a secret': signing({ sign: (secret, body) => signatureOf(secret.trim(), body) }),
  'bad-secret: verifies with an empty list of secrets': accepting((_, __, ___, key) => key === undefined),
  'malformed-signature: decodes the digits, which drops a bad tail': accepting((signature, good) =>
    Buffer.from(signature, 'hex').equals(Buffer.from(good, 'hex')),
  ),
})

/**
 * A durable outbox: each change writes all that it holds to a new file, which replaces the old one when it is synced. Without `inTurn`
 * it does not wait for the change before.
 */
export const files =
  (syncs = true, inTurn = true): MakeOutbox =>
  async ({ clock, bounds, disk }) => {
    const paths = await disk.list()
    if (paths.includes('new')) await disk.remove('new')
    const from = paths.includes('store') ? String(await disk.read('store')) : undefined
    const sizeOf = ({ byteLength }: OutboxItem): number => byteLength
    const store = sharedStore<OutboxItem>(clock, { ...bounds, sizeOf, from })
    const { outbox } = store.open()
    let turn: Promise<unknown> = done()
    const stored = async <T>(answer: Awaitable<T>): Promise<T> => {
      const given = await answer
      const write = async (): Promise<void> => {
        await disk.append('new', store.text())
        if (syncs) await disk.sync('new')
        await disk.rename('new', 'store')
      }
      await (turn = inTurn ? turn.then(write) : write())
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

const ALL = { count: 1_000, retries: 1_000 }
let push: () => void = constVoid
export const pushed: OutboxLawOptions = {
  settle: async () => push(),
  capabilities: { order: 'none', exactBytes: false },
}
/** A store that pushes: what is due comes in `settle`, the newest first, and a lease gives two of it. */
export const pushing =
  (fault?: 'early' | 'keeps one'): MakeOutbox =>
  ({ clock, bounds }) => {
    const sizeOf = ({ byteLength }: OutboxItem): number => 2 * byteLength
    const memory = memoryOutbox<OutboxItem>({ ...bounds, clock, sizeOf })
    let here: ReadonlyArray<Entry<OutboxItem>> = []
    push = () => {
      const due = memory.lease(fault === 'early' ? Number.MAX_SAFE_INTEGER : clock.now(), ALL)
      if ('length' in due) here = [...here, ...due]
    }
    const drop = (entry: Entry<OutboxItem>) => ({ entry, outcome: dropped(entry.item, 0, 'dropOldest') })
    return {
      ...memory,
      lease: (_, { count }) => {
        const first = here.length - Math.min(count, 2, here.length)
        const leased = here.slice(Math.max(first, fault === 'keeps one' ? 1 : 0)).reverse()
        here = here.filter((entry) => !leased.includes(entry))
        return leased
      },
      takeRemaining: async () => {
        const remaining = [...here, ...(await memory.takeRemaining())]
        await memory.ack(here.map(drop))
        here = []
        return remaining
      },
    }
  }

const forgetting = <A>({ nack }: Outbox<A>): Pick<Outbox<A>, 'nack'> => ({
  nack: (list) => nack(list.map(({ entry, due }) => ({ entry: { ...entry, progress: undefined }, due }))),
})

export const moreBrokenOutboxes = versions<MakeOutbox>('outbox')({
  'answers: throws for an empty list': inMemory(({ enqueue }) => ({
    enqueue: (items) => (items.length > 0 ? enqueue(items) : Promise.reject(new Error('nothing to insert'))),
  })),
  'order: ignores retriesOnly': inMemory(({ lease }) => ({
    lease: (now, limits) => lease(now, { ...limits, retriesOnly: false }),
  })),
  'remembers: forgets the progress': inMemory(forgetting),
  'bounds: takes one more than its bound': ({ clock, bounds }) => {
    const outbox = memoryOutbox<OutboxItem>({ ...bounds, maxCount: bounds.maxCount + 1, clock })
    return { ...outbox, stats: () => ({ ...outbox.stats(), maxCount: bounds.maxCount }) }
  },
  'wakes: wakes late': inMemory(({ nextDue }) => ({
    nextDue: (only) => (only === true ? nextDue(true) : undefined),
  })),
  'wakes: is always due': inMemory(() => ({ nextDue: () => 0 })),
  'wakes: counts new items as retries': inMemory(({ nextDue }) => ({ nextDue: () => nextDue() })),
  'dead: lists dead letters backwards': inMemory(({ dead }) => ({
    dead: { ...dead, list: async (page) => [...(await dead.list(page))].reverse() },
  })),
  'dead: counts no evicted dead letter': inMemory(({ stats }) => ({
    stats: () => ({ ...stats(), evictedDeadLetters: 0 }),
  })),
  'dead: does not tell when an item ended': inMemory(({ dead }) => ({
    dead: { ...dead, list: async (page) => (await dead.list(page)).map((one) => ({ ...one, at: 0 })) },
  })),
  'redrives: redrives nothing': inMemory(({ dead }) => ({ dead: { ...dead, redrive: () => [] } })),
  'redrives: answers other ids': inMemory(({ dead }) => ({
    dead: { ...dead, redrive: async (matches) => (await dead.redrive(matches)).map((id) => `new ${id}`) },
  })),
  'repeats: counts a repeated ack': inMemory(({ ack }) => ({ ack: async (list) => ack(list) })),
  'remaining: keeps what it should hand back': inMemory(() => ({ takeRemaining: () => [] })),
  'survives: does not sync': files(false),
  'survives: knows no retries': async (world) => ({ ...(await files()(world)), retries: () => [] }),
  'answers: has two writes under way': files(true, false),
  'stats: loses all but one of calls at once': inMemory(({ enqueue }) => {
    let last: Awaitable<unknown>
    return {
      enqueue: async (items) => {
        const mine = (last = done())
        await mine
        return last === mine ? enqueue(items) : items.map((item) => right(newEntry(newId(), item)))
      },
    }
  }),
})

export const brokenPushing: Versions<MakeOutbox> = {
  ...Object.fromEntries(
    Object.entries<Broken<MakeOutbox>>({ ...parts.broken.outboxes, ...moreBrokenOutboxes }).filter(
      ([, { breaks }]) => breaks !== 'outbox/order' && breaks !== 'outbox/wakes',
    ),
  ),
  ...versions<MakeOutbox>('outbox')({
    'remembers: leases what is not due': pushing('early'),
    'remembers: keeps an entry for itself': pushing('keeps one'),
  }),
}

/** A store in memory, by the clock of its run. `change` is done to each view. `leaseTime`: other than it should be. */
export const sharedInMemory = (
  change: (outbox: Outbox<number>, clock: Clock) => Outbox<number> = identity,
  leaseTime?: number,
): OpenSharedOutbox => {
  const stores = new WeakMap<Clock, SharedStore<number>>()
  return ({ clock, ...world }) => {
    const all = stores.get(clock) ?? sharedStore(clock, { ...world, leaseTime: leaseTime ?? world.leaseTime })
    stores.set(clock, all)
    const { outbox, kill } = all.open()
    return { outbox: change(outbox, clock), kill }
  }
}

export const brokenSharedOutboxes = versions<OpenSharedOutbox>('shared-outbox')({
  'leaves-nothing: tells no process that another one changed it': sharedInMemory(
    ({ watch: _, ...outbox }) => outbox,
  ),
  'keeps-progress: forgets the progress': sharedInMemory((outbox) => ({ ...outbox, ...forgetting(outbox) })),
  'ends-once: loses an item that it accepts': sharedInMemory((outbox) => ({
    ...outbox,
    enqueue: (items) => items.map((item) => right(newEntry(`lost ${String(item)}`, item))),
  })),
  'ends-once: keeps the leases of a killed process for ever': sharedInMemory(identity, 1e9),
  'ends-all: answers at once': sharedInMemory((outbox) => ({ ...outbox, allEnded: async () => undefined })),
  'one-at-a-time: renews no lease': sharedInMemory((outbox, clock) => ({
    ...outbox,
    lease: async (now, limits) => {
      const list = await outbox.lease(now, limits)
      clock.schedule(30_000, () => void outbox.nack(list.map((entry) => ({ entry, due: now }))))
      return list
    },
  })),
  'one-at-a-time: ends the leases of a killed process too soon': sharedInMemory(identity, 14_000),
})

export const moreBrokenPipelines = versions<parts.Events>('pipeline')({
  'ends-once: drops each tenth item': (source$, ...rest) =>
    eventPipeline(source$.pipe(filter((_, n) => n % 10 !== 9)), ...rest),
  'ends-once: drops waiting items at an error of its source': (source$, ...rest) =>
    merge(eventPipeline(source$.pipe(catchError(() => NEVER)), ...rest), source$.pipe(ignoreElements())),
  'completes: hides an error of its source': (source$, ...rest) =>
    eventPipeline(source$.pipe(catchError(() => EMPTY)), ...rest),
  'tells-the-truth: calls a rejected item delivered': ending(
    map((end) => (end._tag === 'Rejected' ? delivered(end.item, 1, { sink: 'laws' }) : end)),
  ),
  'tells-the-truth: gives up when the first of two sinks refuses': (source$, inner, world) =>
    eventPipeline(source$, world.sinks(2)[0] ?? inner, world),
  'tells-the-truth: calls a list delivered of which a part failed': (source$, inner, { clock, random }) => {
    // The sink of the laws takes any item.
    const bulk = withDelivery(inner, takingParts) as unknown as Sink<ReadonlyArray<Payload<Event>>>
    const parts = { batch: { maxCount: 4 }, clock, random }
    return source$.pipe(validate(Event), encode(toWebhookBody), deliver(bulk, parts))
  },
  'sends-again-in-doubt-only: sends each item twice': (source$, { deliver, ...inner }, world) => {
    const twice: typeof deliver = (...given) =>
      concat(deliver(...given).pipe(ignoreElements()), deliver(...given))
    return eventPipeline(source$, { ...inner, deliver: twice }, world)
  },
  'keeps-order: promises an order that it does not keep': eventPipeline,
})

const batching =
  (change: (options: Omit<BatchOptions, 'by'>, clock: Clock) => Omit<BatchOptions, 'by'>): Batcher =>
  (options) =>
    batch({ ...options, ...change(options, options.clock ?? systemClock) })
const over =
  (change: <L, A>(source: ObservableEither<L, A>) => ObservableEither<L, A>): Batcher =>
  <A>(options: KeyedBatchOptions<Frame, A>) =>
  <L>(source: ObservableEither<L, Payload<A>>) =>
    batch(options)(change(source))

export const moreBrokenBatchers = versions<Batcher>('batch')({
  'nothing-lost: loses the first item': over((source) => source.pipe(skip(1))),
  'nothing-stays-behind: loses the rest on completion': over((source) => concat(source, NEVER)),
  'size-is-exact: leaves out the frame': batching(() => ({ frame: { prefix: '', suffix: '' } })),
  'size-is-exact: reverses the members':
    <A>(options: KeyedBatchOptions<Frame, A>) =>
    <L>(source: ObservableEither<L, Payload<A>>) =>
      batch(options)(source).pipe(mapRight((all) => ({ ...all, members: all.members.toReversed() }))),
  'no-needless-wait: waits for one item more than it may take': batching(({ maxCount = 20 }) => ({
    maxCount: maxCount + 1,
  })),
  'closes-for-its-cause: ignores delayFrom': batching(() => ({ delayFrom: 'firstItem' })),
  'one-key: opens one key too many': batching(({ maxKeys = 1_000 }) => ({ maxKeys: maxKeys + 1 })),
  'ends-once: completes in the place of an error': over((source) => source.pipe(catchError(() => EMPTY))),
  'one-timer: leaves its timer behind': batching((_, clock) => ({
    clock: { ...clock, schedule: flow(clock.schedule, () => constVoid) },
  })),
  'wall-clock-is-free: measures by the wall clock': batching((_, clock) => ({
    clock: { ...clock, monotonic: clock.now },
  })),
  'no-emission-within-another: emits within an emission':
    <A>(options: KeyedBatchOptions<Frame, A>) =>
    <L>(source: ObservableEither<L, Payload<A>>) =>
      source.pipe(mergeMap((each) => batch(options)(of(each)))),
  'passes-what-fits-no-batch: drops what has ended already': over((source) => source.pipe(filter(isRight))),
})

const asking =
  (change: (asked: AskedPolicy) => Partial<AskedPolicy>): MakePolicy =>
  (asked) =>
    policyFor({ ...asked, ...change(asked) })

export const moreBrokenPolicies = versions<MakePolicy>('policy')({
  'backoff-within-its-bounds: leaves out the maximum delay': asking(() => ({ maxDelay: null })),
  'gives-up-in-time: starts an attempt at the deadline': asking(({ within }) => ({
    within: within && within + 1,
  })),
})

let seen = 0

export const moreBrokenCodecs = versions<ChangeCodec>('codec')({
  'encoding-is-stable: writes another text each time': changing((codec) => ({
    encode: (value) => ({ ...codec.encode(value), seen: seen++ }),
  })),
  'encoding-is-stable: changes its value': changing((codec) => ({
    encode: (value) => codec.encode(Object.assign(value as object, { seen: true }) as typeof value),
  })),
  'is-agrees-with-decode: says yes to anything': changing(() => ({ is: (_): _ is never => true })),
  'faults-name-their-place: names no place': changing((codec) => ({
    validate: (input, context) =>
      isLeft(codec.decode(input)) ? t.failure(input, context, 'wrong') : codec.validate(input, context),
  })),
  'never-throws: throws for undefined alone': changing((codec) => ({
    validate: (input, context) => {
      if (input === undefined) throw new TypeError('undefined')
      return codec.validate(input, context)
    },
  })),
})

const open: OpenClient = (options) => createClient('a key', options)
const opened = altering(open)

export const brokenClients = versions<OpenClient>('client')({
  'ends-once: keeps a rejection to itself': opened(({ outcomes$ }) => ({
    outcomes$: outcomes$.pipe(filter(({ _tag }) => _tag !== 'Rejected')),
  })),
  'ends-once: accepts a user and sends none': opened(() => ({ identify: () => right({ id: 'none' }) })),
  'tells-the-truth: calls a batch delivered of which a part failed': ({ sink: inner, ...options }) =>
    open({ ...options, ...(inner && { sink: withDelivery(inner, takingParts) }) }),
  'adds-up: counts what it refuses as accepted': opened(({ stats }) => ({
    stats: () => ({ ...stats(), accepted: stats().accepted + stats().refused }),
  })),
  'keeps-limits: puts too many messages into a batch': ({ size = 20, ...options }) =>
    open({ ...options, size: size + 1 }),
  'keeps-order: reverses its batches': ({ sink: inner, ...options }) => {
    const reversed = (each: SentBatch): SentBatch => ({ ...each, members: each.members.toReversed() })
    return open({ ...options, ...(inner && { sink: contramap(reversed)(inner) }) })
  },
  'closes: hands nothing back': opened(({ close }) => ({
    close: async (options) => ({ ...(await close(options)), abandoned: [] }),
  })),
  'flushes: flushes nothing': opened(({ stats }) => ({ flush: () => Promise.resolve(stats()) })),
})
