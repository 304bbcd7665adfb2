import { pipe } from 'fp-ts/lib/function.js'
import type { Clock } from '../core/clock.ts'
import { withBisection } from '../sink/bisect.ts'
import { withRetryAfterGate } from '../sink/retryAfterGate.ts'
import { withConcurrency } from '../sink/concurrency.ts'
import { withObserver } from '../sink/observe.ts'
import type { Listener } from '../log/logEvent.ts'
import { fromRun, runOf } from '../sink/layer.ts'
import type { Layer, Sink } from '../sink/sink.ts'
import type { MessageBatch, SentBatch } from './Message.ts'
import { enveloped } from './queue/enveloped.ts'

/** What stands around the requests of a client. */
export interface Surroundings {
  readonly clock: Clock
  readonly concurrency: number
  readonly onEvent: Listener
  /** A request starts. */
  readonly request: () => void
  /** A batch goes out. */
  readonly sending: (batch: MessageBatch) => void
}

const counting =
  (started: () => void): Layer =>
  (sink) => {
    const run = runOf(sink)
    return fromRun(
      sink.name,
      (item, attempt, receiver) => {
        started()
        return run(item, attempt, receiver)
      },
      sink.close,
    )
  }

/**
 * What a client delivers to (CL4): a refused batch is divided until its culprit stands alone, a `Retry-After` holds back all batches, and
 * so many requests run at a time. `requests` has a limit of time of its own.
 */
export const sinkOf = (
  requests: Sink<SentBatch>,
  { clock, concurrency, onEvent, request, sending }: Surroundings,
): Sink<MessageBatch> =>
  pipe(
    requests,
    counting(request),
    withBisection({ clock }),
    withObserver(onEvent, { clock, only: 'Attempted' }),
    withRetryAfterGate({ clock }),
    withConcurrency({ concurrency, clock }),
    enveloped(sending),
  )
