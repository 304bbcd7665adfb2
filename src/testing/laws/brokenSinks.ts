import { left, right } from 'fp-ts/lib/Either.js'
import { concat, defer, from, ignoreElements, lastValueFrom, map, mergeMap } from 'rxjs'
import { NEVER, of, shareReplay, tap, type Observable } from 'rxjs'
import { refused, retryable, type Failure, type Verdict } from '../../core/failure.ts'
import type { World } from '../simulate.ts'
import type { Broken } from './law.ts'
import { networkSink, type MakeSink, type SinkItem } from './sinkWorld.ts'

type Delivery = Observable<Verdict>

const changed =
  (
    change: (delivery: Delivery, item: SinkItem, world: World) => Delivery,
    timeout?: number,
  ): MakeSink<SinkItem> =>
  (world) => {
    const { name, deliver, close } = networkSink<SinkItem>(world, timeout)
    return { name, deliver: (item, attempt) => change(deliver(item, attempt), item, world), close }
  }

/** Tells another verdict in place of a failure. */
const failing = (change: (failure: Failure) => Verdict): MakeSink<SinkItem> =>
  changed((delivery) =>
    delivery.pipe(map((verdict) => (verdict._tag === 'Left' ? change(verdict.left) : verdict))),
  )

const statusOf = (failure: Failure): number => ('status' in failure ? (failure.status ?? 0) : 0)

const taken: Verdict = right({ sink: 'network' })

/** A request that the delivery does not cancel. */
const audit = ({ network }: World): Promise<unknown> => network.request().catch(() => undefined)

const closing =
  (close: (count: number) => Promise<void>): MakeSink<SinkItem> =>
  (world) => {
    let count = 0
    return { ...changed((delivery) => delivery)(world), close: () => () => close(++count) }
  }

/** Deliveries that start from within a verdict wait for ever. */
const blocking: MakeSink<SinkItem> = (world) => {
  let isTelling = false
  const tell = tap<Verdict>(() => {
    isTelling = true
    queueMicrotask(() => {
      isTelling = false
    })
  })
  return changed((delivery) => defer(() => (isTelling ? NEVER : delivery.pipe(tell))))(world)
}

/** Sinks with one fault each. */
export const brokenSinks = {
  'starts before it is subscribed': {
    breaks: 'sink/each-subscription',
    make: changed((delivery) => {
      delivery.subscribe({ error: () => undefined })
      return delivery
    }),
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
  'ends with an error in place of a failure': {
    breaks: 'sink/one-verdict',
    make: changed((delivery) =>
      delivery.pipe(
        tap((verdict) => {
          if (verdict._tag === 'Left') throw new Error('planted')
        }),
      ),
    ),
  },
  'never completes': { breaks: 'sink/settles', make: changed((delivery) => concat(delivery, NEVER)) },
  'waits for an answer for ever': { breaks: 'sink/settles', make: changed((delivery) => delivery, Infinity) },
  'cannot be used from within its verdict': { breaks: 'sink/settles', make: blocking },
  'completes while a request runs': {
    breaks: 'sink/completes-last',
    make: changed((delivery, _item, world) => delivery.pipe(tap(() => void audit(world)))),
  },
  'cannot be cancelled': {
    breaks: 'sink/cancel-aborts',
    make: changed((delivery) => defer(() => lastValueFrom(delivery, { defaultValue: taken }))),
  },
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
    make: failing((failure) => (statusOf(failure) >= 500 ? taken : left(failure))),
  },
  'gives up on a 5xx': {
    breaks: 'sink/failed-is-retryable',
    make: failing((failure) => left(statusOf(failure) >= 500 ? refused('status') : failure)),
  },
  'tries again what was refused': {
    breaks: 'sink/refused-is-final',
    make: failing((failure) => left(failure._tag === 'Refused' ? retryable('status') : failure)),
  },
  'takes a 2xx for a failure': {
    breaks: 'sink/delivered-if-accepted',
    make: changed((delivery) =>
      delivery.pipe(map((verdict) => (verdict._tag === 'Right' ? left(retryable('status')) : verdict))),
    ),
  },
  'does not read Retry-After': {
    breaks: 'sink/retry-after',
    make: failing((failure) => left(failure._tag === 'Retryable' ? retryable(failure.reason) : failure)),
  },
  'cannot be closed twice': {
    breaks: 'sink/close',
    make: closing((count) => (count === 1 ? Promise.resolve() : Promise.reject(new Error('planted')))),
  },
  'never closes': { breaks: 'sink/close', make: closing(() => new Promise(() => undefined)) },
} satisfies Readonly<Record<string, Broken<MakeSink<SinkItem>>>>
