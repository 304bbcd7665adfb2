/** Sinks that break one clause of the contract each. */
import { left } from 'fp-ts/lib/Either.js'
import { share } from 'rxjs'
import { retryable } from '../../src/core/failure.ts'
import { fromRun, type Receiver, type Run, runOf } from '../../src/sink/layer.ts'
import type { Sink } from '../../src/sink/sink.ts'
import type { VirtualClock } from '../../src/testing/virtualClock.ts'

type Spoil = (sink: Sink<number>, clock: VirtualClock) => Sink<number>

const rerun = (change: (run: Run<number>, clock: VirtualClock) => Run<number>): Spoil => {
  return (sink, clock) => fromRun(sink.name, change(runOf(sink), clock), sink.close)
}

const hearing =
  (change: (receiver: Receiver) => Receiver) =>
  (run: Run<number>): Run<number> =>
  (item, attempt, receiver) =>
    run(item, attempt, change(receiver))

const told = (receiver: Receiver): Receiver => ({
  next: (verdict) => receiver.next(verdict),
  complete: () => receiver.complete(),
  error: (defect) => receiver.error(defect),
})

export const sinkMutants: ReadonlyArray<{ readonly name: string; readonly make: Spoil }> = [
  {
    name: 'starts before it is subscribed',
    make: (sink) => ({
      ...sink,
      deliver: (item, attempt) => {
        sink.deliver(item, attempt).subscribe({ error: () => {} })
        return sink.deliver(item, attempt)
      },
    }),
  },
  {
    name: 'shares one delivery among its subscriptions',
    make: (sink) => {
      const deliver: Sink<number>['deliver'] = (item, attempt) => {
        const delivery = sink
          .deliver(item, attempt)
          .pipe(share({ resetOnComplete: false, resetOnError: false }))
        delivery.subscribe({ error: () => {} })
        return delivery
      }
      return { ...sink, deliver }
    },
  },
  {
    name: 'tells its verdict twice',
    make: rerun(
      hearing((receiver) => ({
        ...told(receiver),
        next: (verdict) => {
          receiver.next(verdict)
          receiver.next(verdict)
        },
      })),
    ),
  },
  {
    name: 'never completes',
    make: rerun(hearing((receiver) => ({ ...told(receiver), complete: () => {} }))),
  },
  {
    name: 'completes at its verdict, while the rest still runs',
    make: rerun(
      hearing((receiver) => {
        let over = false
        return {
          next: (verdict) => {
            over = true
            receiver.next(verdict)
            receiver.complete()
          },
          complete: () => {
            if (!over) receiver.complete()
          },
          error: (defect) => {
            if (!over) receiver.error(defect)
          },
        }
      }),
    ),
  },
  {
    name: 'completes without a verdict when it failed',
    make: rerun(
      hearing((receiver) => ({
        ...told(receiver),
        next: (verdict) => {
          if (verdict._tag === 'Right') receiver.next(verdict)
        },
      })),
    ),
  },
  {
    name: 'completes after a defect',
    make: rerun(
      hearing((receiver) => ({
        ...told(receiver),
        error: (defect) => {
          receiver.error(defect)
          receiver.complete()
        },
      })),
    ),
  },
  {
    name: 'throws a defect',
    make: rerun((run) => (item, attempt, receiver) => {
      let thrown: Error | undefined
      let starting = true
      const cancel = run(item, attempt, {
        ...told(receiver),
        error: (defect) => {
          if (starting) thrown = new Error(String(defect))
          else receiver.error(defect)
        },
      })
      starting = false
      if (thrown !== undefined) throw thrown
      return cancel
    }),
  },
  {
    name: 'tells a verdict that is none',
    make: rerun(
      hearing((receiver) => ({
        ...told(receiver),
        // What a careless host in plain JavaScript might do.
        next: () => receiver.next({ _tag: 'Left', left: 'no' } as never),
      })),
    ),
  },
  {
    name: 'cannot be cancelled',
    make: rerun((run) => (item, attempt, receiver) => {
      run(item, attempt, receiver)
      return () => {}
    }),
  },
  {
    name: 'is cancelled with a delay',
    make: rerun((run, clock) => (item, attempt, receiver) => {
      let cancelled = false
      const cancel = run(item, attempt, {
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
        clock.schedule(5, cancel)
      }
    }),
  },
  {
    name: 'gives a verdict when it is cancelled',
    make: rerun((run) => (item, attempt, receiver) => {
      let over = false
      const cancel = run(item, attempt, {
        next: (verdict) => {
          over = true
          receiver.next(verdict)
        },
        complete: () => receiver.complete(),
        error: (defect) => {
          over = true
          receiver.error(defect)
        },
      })
      return () => {
        cancel()
        if (!over) receiver.next(left(retryable('cancelled')))
      }
    }),
  },
  {
    name: 'completes when it is cancelled',
    make: rerun((run) => (item, attempt, receiver) => {
      const cancel = run(item, attempt, receiver)
      return () => {
        cancel()
        receiver.complete()
      }
    }),
  },
  {
    name: 'delivers only one at a time and loses the others',
    make: rerun((run) => {
      let busy = false
      return (item, attempt, receiver) => {
        if (busy) return () => {}
        busy = true
        const cancel = run(item, attempt, {
          next: (verdict) => receiver.next(verdict),
          complete: () => {
            busy = false
            receiver.complete()
          },
          error: (defect) => {
            busy = false
            receiver.error(defect)
          },
        })
        return () => {
          busy = false
          cancel()
        }
      }
    }),
  },
  {
    name: 'fails when it is closed again',
    make: (sink) => {
      let closed = false
      const close: Sink<number>['close'] = () => () => {
        if (closed) return Promise.reject(new Error('closed already'))
        closed = true
        return Promise.resolve()
      }
      return fromRun(sink.name, runOf(sink), close)
    },
  },
]
