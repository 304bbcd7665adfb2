/** Layers that break one clause of the contract each. */
import { fromRun, runOf } from '../../src/sink/layer.ts'
import { type Layer, onlyAttempt, type Sink } from '../../src/sink/sink.ts'
import type { VirtualClock } from '../../src/testing/virtualClock.ts'
import type { MakeLayer } from '../laws/layer.ts'

const layer =
  (change: <A>(sink: Sink<A>, clock: VirtualClock) => Sink<A>): MakeLayer =>
  (clock): Layer =>
  (sink) =>
    change(sink, clock)

export const layerMutants: ReadonlyArray<{ readonly name: string; readonly make: MakeLayer }> = [
  {
    name: 'forgets the attempt',
    make: layer((sink) =>
      fromRun(sink.name, (item, _attempt, receiver) => runOf(sink)(item, onlyAttempt, receiver), sink.close),
    ),
  },
  {
    name: 'forgets what failed before',
    make: layer((sink) =>
      fromRun(
        sink.name,
        (item, attempt, receiver) => runOf(sink)(item, { ...attempt, lastFailure: undefined }, receiver),
        sink.close,
      ),
    ),
  },
  {
    name: 'does not close what is inside',
    make: layer((sink) => ({ ...sink, close: () => () => Promise.resolve() })),
  },
  {
    name: 'closes with a time of its own',
    make: layer((sink) => ({ ...sink, close: () => sink.close(1_000_000) })),
  },
  { name: 'has a name of its own', make: layer((sink) => fromRun('layer', runOf(sink), sink.close)) },
  {
    name: 'tells the verdict only at the end',
    make: layer((sink) =>
      fromRun(
        sink.name,
        (item, attempt, receiver) => {
          let onEvent = (): void => {}
          return runOf(sink)(item, attempt, {
            next: (verdict) => {
              onEvent = () => receiver.next(verdict)
            },
            complete: () => {
              onEvent()
              receiver.complete()
            },
            error: (defect) => {
              onEvent()
              receiver.error(defect)
            },
          })
        },
        sink.close,
      ),
    ),
  },
  {
    name: 'makes a failure of a defect',
    make: layer((sink) =>
      fromRun(
        sink.name,
        (item, attempt, receiver) =>
          runOf(sink)(item, attempt, {
            next: (verdict) => receiver.next(verdict),
            complete: () => receiver.complete(),
            error: () => receiver.complete(),
          }),
        sink.close,
      ),
    ),
  },
  {
    name: 'leaves a timer behind',
    make: layer((sink, clock) =>
      fromRun(
        sink.name,
        (item, attempt, receiver) => {
          clock.schedule(60_000, () => {})
          return runOf(sink)(item, attempt, receiver)
        },
        sink.close,
      ),
    ),
  },
  {
    name: 'does not pass a cancel on',
    make: layer((sink) =>
      fromRun(
        sink.name,
        (item, attempt, receiver) => {
          let cancelled = false
          runOf(sink)(item, attempt, {
            next: (verdict) => {
              if (!cancelled) receiver.next(verdict)
            },
            complete: () => {
              if (!cancelled) receiver.complete()
            },
            error: (defect) => {
              if (!cancelled) receiver.error(defect)
            },
          })
          return () => {
            cancelled = true
          }
        },
        sink.close,
      ),
    ),
  },
]
