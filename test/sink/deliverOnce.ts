import { onlyAttempt, type Attempt, type Sink, type Verdict, type EventPayload } from '../../src/index.ts'
import { subscribeTo } from '../../src/sink/layer.ts'

export interface Seen {
  readonly verdicts: ReadonlyArray<Verdict>
  readonly end: 'complete' | 'defect' | 'cancelled'
}

export interface DeliverOptions {
  readonly attempt?: Attempt
  /** Unsubscribes when this is fulfilled, or a little after the verdict. Default: never. */
  readonly cut?: Promise<unknown> | 'after the verdict'
}

export const deliverOnce = <A>(sink: Sink<A>, item: A, { attempt = onlyAttempt, cut }: DeliverOptions = {}) =>
  new Promise<Seen>((resolve) => {
    const verdicts: Verdict[] = []
    const over = (end: Seen['end']): void => resolve({ verdicts, end })
    const stop = (): void => {
      if (subscription.closed) return
      subscription.unsubscribe()
      over('cancelled')
    }
    const subscription = sink.deliver(item, attempt).subscribe({
      next: (verdict) => {
        verdicts.push(verdict)
        if (cut === 'after the verdict') setTimeout(stop, 10)
      },
      error: () => over('defect'),
      complete: () => over('complete'),
    })
    if (typeof cut === 'object') void cut.then(stop)
  })

/** Begins a delivery: `told` has verdicts, 'defect' with the error behind it, and the end, as they come. */
export const hear = <A>(sink: Sink<A>, item: A, attempt: Attempt = onlyAttempt) => {
  const told: unknown[] = []
  const cancel = subscribeTo(sink)(item, attempt, {
    next: (verdict) => told.push(verdict),
    error: (defect) => told.push('defect', defect),
    complete: () => told.push('complete'),
  })
  return { told, cancel }
}

export const payloadOf = (
  text: string,
  more: Partial<EventPayload<unknown>> = {},
): EventPayload<unknown> => ({ id: 'm-1', items: [text], text, byteLength: Buffer.byteLength(text), ...more })
