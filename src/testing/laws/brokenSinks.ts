import { mapLeft, right } from 'fp-ts/lib/Either.js'
import { concat, defer, from, lastValueFrom, map, mergeMap } from 'rxjs'
import { NEVER, tap, type Observable } from 'rxjs'
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

/** Changes each delivery. */
export const changed =
  (change: (delivery: Delivery, item: SinkItem, world: World) => Delivery): MakeSink<SinkItem> =>
  (world) =>
    withDelivery(networkSink<SinkItem>(world), (delivery, item) => change(delivery, item, world))

/** Changes each request. */
export const sending =
  (change: (request: NetworkRequest) => NetworkRequest): MakeSink<SinkItem> =>
  ({ network }) =>
    sink(
      'network',
      async (item, { signal }) => {
        const { status } = await network.request(change({ body: JSON.stringify(item), signal }))
        return new Response(null, { status })
      },
      { timeout: 1_000 },
    )

/** Changes each verdict. */
export const telling = (change: (verdict: Verdict) => Verdict): MakeSink<SinkItem> =>
  changed((delivery) => delivery.pipe(map(change)))

/** Whether it failed with a 5xx. */
export const is5xx = (failure: Failure): boolean => 'status' in failure && (failure.status ?? 0) >= 500

/** Sinks with one fault each. */
export const brokenSinks = brokenVersions<MakeSink<SinkItem>>()({
  'starts before it is subscribed': {
    breaks: 'sink/each-subscription',
    make: changed((delivery) => from(lastValueFrom(delivery, { defaultValue: cancelled }))),
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
  'cannot be cancelled': { breaks: 'sink/cancel-aborts', make: changed(uncancelled) },
  'changes its item': {
    breaks: 'sink/item-unchanged',
    make: changed((delivery, item) => delivery.pipe(tap(() => Object.assign(item, { sent: true })))),
  },
  'gives up on a 5xx': {
    breaks: 'sink/failed-is-retryable',
    make: telling(mapLeft((failure) => (is5xx(failure) ? refused('status') : failure))),
  },
  'tries again what was refused': {
    breaks: 'sink/refused-is-final',
    make: telling(mapLeft((): Failure => retryable('status'))),
  },
  'sends an empty body': {
    breaks: 'sink/sends-the-item',
    make: sending((given) => ({ ...given, body: '' })),
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
