/** Metrics by the messaging conventions of OpenTelemetry, out of log events. */
import { createNoopMeter, type Attributes, type Meter } from '@opentelemetry/api'
import { constVoid } from '../core/either.ts'
import { memberVerdicts, type Verdict } from '../core/failure.ts'
import type { Listener } from '../log/logEvent.ts'
import { batchMembers } from './traceContext.ts'

/** The words of each version of the conventions that differ. */
export const VERSIONS = {
  '1.27': { type: 'publish', sent: 'messaging.client.published.messages' },
  '1.45': { type: 'send', sent: 'messaging.client.sent.messages' },
} as const

/** Seconds, as the conventions advise. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/** Attributes of an operation: of a span, or of an attempt that is measured. */
export const operation = (name: string, type: string, more: Attributes): Attributes => ({
  'messaging.system': 'headrace',
  'messaging.operation.name': name,
  'messaging.operation.type': type,
  ...more,
})

/** The status, or the word for it. */
export const errorTypeOf = (verdict: Verdict): string | undefined => {
  if (verdict._tag === 'Right') return undefined
  return 'reason' in verdict.left ? String(verdict.left.status ?? verdict.left.reason) : verdict.left._tag
}

/** Measures attempts, and counts messages, outcomes and refusals. */
export const metricsOf = (meter: Meter, words: (typeof VERSIONS)['1.27' | '1.45']): Listener => {
  if (meter === createNoopMeter()) return constVoid
  const advice = { explicitBucketBoundaries: BUCKETS }
  const duration = meter.createHistogram('messaging.client.operation.duration', { unit: 's', advice })
  const sent = meter.createCounter(words.sent, { unit: '{message}' })
  const outcomes = meter.createCounter('headrace.outcomes', { unit: '{message}' })
  const refusals = meter.createCounter('headrace.refusals', { unit: '{message}' })
  const countOf = (item: unknown): number => batchMembers(item)?.length ?? 1

  return (event) => {
    // Last in each record: a key behind a spread takes a microsecond.
    const part = { 'headrace.part': event.from }
    if (event._tag === 'Attempted') {
      const { sink, item, result } = event
      const of = (verdict: Verdict): Attributes => {
        const error = errorTypeOf(verdict)
        const failed = error !== undefined && { 'error.type': error }
        return operation('send', words.type, { 'messaging.destination.name': sink, ...part, ...failed })
      }
      const count = countOf(item)
      const members = result._tag === 'Left' ? memberVerdicts(result.left, count) : undefined
      duration.record(event.duration / 1_000, of(result))
      if (members === undefined) sent.add(count, of(result))
      else for (const each of members) sent.add(1, of(each))
    } else if (event._tag === 'Ended') {
      const { item, _tag: outcome } = event.outcome
      // An item that is a list is one; a batch that was stored as one item is its messages.
      outcomes.add(Array.isArray(item) ? 1 : countOf(item), { outcome, ...part })
    } else if (event._tag === 'Corrupt') {
      outcomes.add(1, { outcome: 'Rejected', ...part })
    } else if (event._tag === 'NotAccepted') {
      refusals.add(1, { reason: event.refusal._tag, ...part })
    }
  }
}
