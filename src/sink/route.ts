import { left } from '../core/either.ts'
import type { Cancel, Clock } from '../core/clock.ts'
import { refused, retryable, type Verdict } from '../core/failure.ts'
import { CLOSE_TIMEOUT, checkOptions, func, strict, text, wholeNumber, withDefault } from '../core/options.ts'
import { closeAll } from './combine.ts'
import { answer, makeSink, nothingToCancel, subscribeTo, type Subscribe } from './layer.ts'
import { clockOf, type Sink } from './sink.ts'

/** Options of `route`. */
export interface RouteOptions<in A, K> {
  /** Default `route`. */
  readonly name?: string
  /** The key of an item, such as its tenant. Keys are compared as in a `Map`. */
  readonly keyOf: (item: A) => K
  /** Makes the sink of a key; undefined if the key has none. */
  readonly open: (key: K) => Sink<A> | undefined
  /** The most sinks that are open at a time. Default 100. */
  readonly maxCount?: number
  /** Milliseconds without a delivery after which a sink is closed. Default 60,000. */
  readonly idleTimeout?: number
}

const routeOptions = strict({
  name: withDefault(text, 'route'),
  keyOf: func<(item: never) => unknown>(),
  open: func<(key: never) => Sink<never> | undefined>(),
  maxCount: withDefault(wholeNumber('sinks', 1), 100),
  idleTimeout: withDefault(wholeNumber('ms', 1), 60_000),
})

/** A sink of many, of which one can be opened anew. */
export interface RoutedSink<in A, in K> extends Sink<A> {
  /**
   * The next item of the key opens its sink anew, by `open`; the present one is closed after its last
   * delivery. It may change a secret.
   */
  readonly reopen: (key: K) => void
}

interface OpenRoute<A> {
  readonly sink: Sink<A>
  readonly subscribe: Subscribe<A>
  /** Of its last delivery. */
  clock: Clock
  running: number
  cancelIdle: Cancel
}

const NO_ROUTE: Verdict = left(refused('noRoute', { detail: 'no sink for the key of this item' }))

/**
 * One sink made of many: each item goes to the sink of its key, which is opened when its first item comes and
 * closed after `idleTimeout` without a delivery. A sink in use is never closed. An item whose key has no sink
 * is refused for good (`noRoute`). While `maxCount` sinks are all in use, an item of another key is
 * `Retryable('held')`; otherwise the sink that was idle for longest is closed for it.
 *
 * The sink of a key should have the same name each time it is opened: past failures are remembered by it.
 * `reopen(key)` exchanges it, such as for another secret.
 *
 * @throws ConfigError if an option is wrong.
 *
 * @example
 * import { route, sink } from 'headrace'
 *
 * const byTenant = route({
 *   keyOf: (order: { tenant: string }) => order.tenant,
 *   open: (tenant) => sink(tenant, async (order: { tenant: string }) => order.tenant),
 * })
 * console.log(byTenant.name) // => route
 */
export const route = <A, K>(options: RouteOptions<A, K>): RoutedSink<A, K> => {
  const { name, maxCount, idleTimeout } = checkOptions('options of route', routeOptions, options)
  const { keyOf, open } = options
  const busy: Verdict = left(retryable('held', { detail: `all ${String(maxCount)} are in use; not started` }))
  /** Those idle for longest come first: a sink that becomes idle moves to the end. */
  const sinks = new Map<K, OpenRoute<A>>()
  /** Replaced, and still in use: beside `maxCount`. */
  const retired = new Set<OpenRoute<A>>()

  /** A failed close of a sink that is no longer needed costs no item. */
  const closeIdle = (key: K, { sink, clock, cancelIdle }: OpenRoute<A>): void => {
    cancelIdle()
    if (sinks.get(key)?.sink === sink) sinks.delete(key)
    closeAll([sink], CLOSE_TIMEOUT, clock).catch(() => undefined)
  }

  const release = (key: K, used: OpenRoute<A>): void => {
    used.running--
    if (used.running > 0) return
    if (retired.delete(used)) closeIdle(key, used)
    if (sinks.get(key) !== used) return
    sinks.delete(key)
    sinks.set(key, used)
    used.cancelIdle = used.clock.schedule(idleTimeout, () => closeIdle(key, used), { holds: false })
  }

  const sinkOf = (key: K, clock: Clock): OpenRoute<A> | Verdict => {
    const known = sinks.get(key)
    if (known !== undefined) return known
    const isFull = sinks.size >= maxCount
    const idle = isFull ? [...sinks].find(([, { running }]) => running === 0) : undefined
    if (isFull && idle === undefined) return busy
    const sink = open(key)
    if (sink === undefined) return NO_ROUTE
    if (idle !== undefined) closeIdle(...idle)
    const subscribe = subscribeTo(sink)
    const made: OpenRoute<A> = { sink, subscribe, clock, running: 0, cancelIdle: nothingToCancel }
    sinks.set(key, made)
    return made
  }

  const sink = makeSink<A>(
    name,
    (item, attempt, observer) => {
      const key = keyOf(item)
      const clock = clockOf(attempt)
      const found = sinkOf(key, clock)
      if ('_tag' in found) return answer(observer, found)
      found.running++
      found.clock = clock
      found.cancelIdle()
      const cancel = found.subscribe(item, attempt, observer)
      return () => {
        cancel()
        release(key, found)
      }
    },
    (timeout, clock) => {
      for (const { cancelIdle } of sinks.values()) cancelIdle()
      const all = [...sinks.values(), ...retired].map(({ sink }) => sink)
      sinks.clear()
      return closeAll(all, timeout, clock)
    },
  )
  const reopen = (key: K): void => {
    const known = sinks.get(key)
    if (known === undefined) return
    if (known.running === 0) return closeIdle(key, known)
    sinks.delete(key)
    retired.add(known)
  }
  return Object.assign(sink, { reopen })
}
