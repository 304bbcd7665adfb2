import { chain, isLeft, left, mapLeft, orElse, right } from 'fp-ts/lib/Either.js'
import { concat, defer, finalize, from, ignoreElements, lastValueFrom, map, mergeMap } from 'rxjs'
import { NEVER, of, shareReplay, tap, type Observable } from 'rxjs'
import { refused, retryable, type Failure, type Verdict } from '../../core/failure.ts'
import { sink } from '../../sink/fromFunction.ts'
import type { Sink } from '../../sink/sink.ts'
import type { NetworkRequest } from '../network.ts'
import type { World } from '../simulate.ts'
import { brokenVersions } from './law.ts'
import { networkSink, type MakeSink, type SinkItem } from './sinkWorld.ts'

type Delivery = Observable<Verdict>

const cancelled: Verdict = right({ sink: 'cancelled' })

/** A sink whose deliveries are changed. */
export const withDelivery = <A>(
  { name, deliver, close }: Sink<A>,
  change: (delivery: Delivery, item: A) => Delivery,
): Sink<A> => ({ name, deliver: (item, attempt) => change(deliver(item, attempt), item), close })

/** A delivery that a cancel does not reach. */
export const uncancelled = (delivery: Delivery): Delivery =>
  defer(() => lastValueFrom(delivery, { defaultValue: cancelled }))

const changed =
  (change: (delivery: Delivery, item: SinkItem, world: World) => Delivery): MakeSink<SinkItem> =>
  (world) =>
    withDelivery(networkSink<SinkItem>(world), (delivery, item) => change(delivery, item, world))

/** Changes each request. */
const sending =
  (change: (request: NetworkRequest) => NetworkRequest): MakeSink<SinkItem> =>
  ({ network, clock }) =>
    sink(
      'network',
      async (item, { signal }) => {
        const { status } = await network.request(change({ body: JSON.stringify(item), signal }))
        return new Response(null, { status })
      },
      { clock, timeout: 1_000 },
    )

const telling = (change: (verdict: Verdict) => Verdict): MakeSink<SinkItem> =>
  changed((delivery) => delivery.pipe(map(change)))

const is5xx = (failure: Failure): boolean => 'status' in failure && (failure.status ?? 0) >= 500

/** A request that the delivery does not cancel. */
const audit = ({ network }: World): Promise<unknown> => network.request().catch(() => undefined)

/** Sinks with one fault each. */
export const brokenSinks = brokenVersions<MakeSink<SinkItem>>()({
  'starts before it is subscribed': {
    breaks: 'sink/each-subscription',
    make: changed((delivery) => from(lastValueFrom(delivery, { defaultValue: cancelled }))),
  },
  'shares one delivery between its subscriptions': {
    breaks: 'sink/each-subscription',
    make: changed((delivery) => delivery.pipe(shareReplay({ bufferSize: 2, refCount: false }))),
  },
  'emits two verdicts': {
    breaks: 'sink/one-verdict',
    make: changed((delivery) => delivery.pipe(mergeMap((verdict) => [verdict, verdict]))),
  },
  'throws in deliver': {
    breaks: 'sink/one-verdict',
    make: changed(() => {
      throw new Error('planted')
    }),
  },
  'never completes': { breaks: 'sink/settles', make: changed((delivery) => concat(delivery, NEVER)) },
  'waits for an answer for ever': { breaks: 'sink/settles', make: (world) => networkSink(world, Infinity) },
  'completes while a request runs': {
    breaks: 'sink/completes-last',
    make: changed((delivery, _item, world) => delivery.pipe(tap(() => void audit(world)))),
  },
  'cannot be cancelled': { breaks: 'sink/cancel-aborts', make: changed(uncancelled) },
  'cannot be cancelled after its verdict': {
    breaks: 'sink/cancel-aborts',
    make: changed((delivery, _item, world) =>
      delivery.pipe(mergeMap((verdict) => concat(of(verdict), from(audit(world)).pipe(ignoreElements())))),
    ),
  },
  'changes its item': {
    breaks: 'sink/item-unchanged',
    make: changed((delivery, item) => delivery.pipe(tap(() => Object.assign(item, { sent: true })))),
  },
  'drops an item on a 5xx': {
    breaks: 'sink/delivered-if-accepted',
    make: telling(orElse((failure) => (is5xx(failure) ? right({ sink: 'network' }) : left(failure)))),
  },
  'takes a 2xx for a failure': {
    breaks: 'sink/delivered-if-accepted',
    make: telling(chain((): Verdict => left(retryable('status')))),
  },
  'gives up on a 5xx': {
    breaks: 'sink/failed-is-retryable',
    make: telling(mapLeft((failure) => (is5xx(failure) ? refused('status') : failure))),
  },
  'tries again what was refused': {
    breaks: 'sink/refused-is-final',
    make: telling(mapLeft((): Failure => retryable('status'))),
  },
  'does not read Retry-After': {
    breaks: 'sink/retry-after',
    make: telling(
      mapLeft((failure): Failure => (failure._tag === 'Retryable' ? retryable('status') : failure)),
    ),
  },
  'sends an empty body': {
    breaks: 'sink/sends-the-item',
    make: sending((given) => ({ ...given, body: '' })),
  },
  'sends the body of the item before': {
    breaks: 'sink/sends-the-item',
    make: (world) => {
      let before: NetworkRequest = { body: '' }
      return sending((given) => {
        const { body = '' } = before
        before = given
        return { ...given, body }
      })(world)
    },
  },
  'sends each item twice': {
    breaks: 'sink/sends-the-item',
    make: changed((delivery) => concat(delivery.pipe(ignoreElements()), delivery)),
  },
  'has one cancel for all deliveries': {
    breaks: 'sink/independent',
    make: (world) => {
      const all = new AbortController()
      const { signal } = all
      return withDelivery(sending((given) => ({ ...given, signal }))(world), (delivery) =>
        delivery.pipe(finalize(() => all.abort())),
      )
    },
  },
  'sends nothing after a failure': {
    breaks: 'sink/independent',
    make: (world) => {
      let failed: Verdict | undefined
      return withDelivery(networkSink<SinkItem>(world), (delivery) =>
        defer(() => (failed === undefined ? delivery : of(failed))).pipe(
          tap((verdict) => {
            if (isLeft(verdict)) failed = verdict
          }),
        ),
      )
    },
  },
  'starts after its deadline': {
    breaks: 'sink/keeps-deadline',
    make: changed((delivery, _item, { clock }) =>
      defer(() => clock.sleep(30)).pipe(mergeMap(() => delivery)),
    ),
  },
  'leaves a timer': {
    breaks: 'sink/leaves-no-timer',
    make: changed((delivery, _item, { clock }) =>
      delivery.pipe(tap(() => void clock.schedule(60_000, () => undefined))),
    ),
  },
  'cannot be closed twice': {
    breaks: 'sink/close',
    make: (world) => {
      const once = [Promise.resolve()]
      const close = () => once.pop() ?? Promise.reject(new Error('planted'))
      return { ...networkSink<SinkItem>(world), close }
    },
  },
  'never closes': {
    breaks: 'sink/close',
    make: (world) => ({ ...networkSink(world), close: () => new Promise(() => undefined) }),
  },
})
