import { pipe } from 'fp-ts/lib/function.js'
import type { Clock } from '../clock/Clock.ts'
import { bisecting } from '../layers/bisecting.ts'
import { holdingBack } from '../layers/holdingBack.ts'
import { limiting } from '../layers/limiting.ts'
import { observing } from '../layers/observing.ts'
import type { Tell } from '../observe/Happening.ts'
import { fromRun, runOf } from '../sink/Run.ts'
import type { Layer, Sink } from '../sink/Sink.ts'
import type { MessageBatch, SentBatch } from './Message.ts'
import { enveloped } from './queue/enveloped.ts'

/** What stands around the requests of a client. */
export interface Surroundings {
  readonly clock: Clock
  readonly concurrency: number
  readonly tell: Tell
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
  { clock, concurrency, tell, request, sending }: Surroundings,
): Sink<MessageBatch> =>
  pipe(
    requests,
    counting(request),
    bisecting({ clock }),
    observing(tell, { clock, only: 'Attempted' }),
    holdingBack({ clock }),
    limiting({ concurrency, clock }),
    enveloped(sending),
  )
