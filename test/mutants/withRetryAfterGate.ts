/** Gates with one planted mistake each, and one without, written apart from the real one. */
import { left } from 'fp-ts/lib/Either.js'
import { type Failure, refused, retryable } from '../../src/core/failure.ts'
import { fromRun, runOf } from '../../src/sink/layer.ts'
import type { MakeHoldingBack } from '../laws/withRetryAfterGate.ts'

const mistakes = [
  'starts all the same',
  'lets the last wish win over a later moment',
  'looks at no batch',
  'takes the earliest wish of a batch',
  'looks into a first success',
  'knows no bound',
  'believes NaN',
  'opens a millisecond late',
  'opens a millisecond early',
  'opens when something was taken',
  'has a gate for each sink',
  'does not say until when',
  'calls it a lane that is full',
  'refuses for good',
  'never completes what it holds back',
  'tells it twice',
  'sets a timer',
  'closes when a delivery ends, not at its verdict',
  'does not pass a cancel on',
  'holds back the failure itself',
] as const

type Mistake = (typeof mistakes)[number]

const wishesOf = (failure: Failure, mistake: Mistake | 'none'): ReadonlyArray<number> => {
  if (failure._tag === 'Retryable') return failure.notBefore === undefined ? [] : [failure.notBefore]
  if (failure._tag === 'PartlyFailed' && mistake !== 'looks at no batch') {
    const all = failure.members.flatMap((each) => (each._tag === 'Left' ? wishesOf(each.left, mistake) : []))
    return mistake === 'takes the earliest wish of a batch'
      ? all
          .slice()
          .sort((a, b) => a - b)
          .slice(0, 1)
      : all
  }
  if (failure._tag === 'AllFailed' && mistake === 'looks into a first success')
    return failure.causes.flatMap((cause) => wishesOf(cause.failure, mistake))
  return []
}

export const plainWith =
  (mistake: Mistake | 'none'): MakeHoldingBack =>
  (most, clock) => {
    const shared = { until: -Infinity }
    return (sink) => {
      const gate = mistake === 'has a gate for each sink' ? { until: -Infinity } : shared
      const note = (failure: Failure): void => {
        for (const each of wishesOf(failure, mistake)) {
          const now = clock.now()
          const until = mistake === 'knows no bound' ? Math.ceil(each) : Math.min(Math.ceil(each), now + most)
          if (mistake === 'believes NaN' && Number.isNaN(until)) gate.until = now + 10
          if (mistake === 'lets the last wish win over a later moment' && until > now) gate.until = until
          if (until > now && until > gate.until) gate.until = until
          if (mistake === 'sets a timer') clock.schedule(1_000, () => {})
        }
      }
      return fromRun(
        sink.name,
        (item, attempt, receiver) => {
          const shift =
            mistake === 'opens a millisecond late' ? 1 : mistake === 'opens a millisecond early' ? -1 : 0
          if (clock.now() < gate.until + shift && mistake !== 'starts all the same') {
            const notBefore = gate.until
            const more = mistake === 'does not say until when' ? {} : { notBefore }
            const reason = mistake === 'calls it a lane that is full' ? 'laneFull' : 'held'
            const verdict = left(mistake === 'refuses for good' ? refused('held') : retryable(reason, more))
            receiver.next(verdict)
            if (mistake === 'tells it twice') receiver.next(verdict)
            if (mistake !== 'never completes what it holds back') receiver.complete()
            return () => {}
          }
          let last: Failure | undefined
          const cancel = runOf(sink)(item, attempt, {
            next: (verdict) => {
              if (verdict._tag === 'Left') last = verdict.left
              else if (mistake === 'opens when something was taken') gate.until = -Infinity
              const before = gate.until
              if (last !== undefined && mistake !== 'closes when a delivery ends, not at its verdict')
                note(last)
              const held = mistake === 'holds back the failure itself' && gate.until > before
              receiver.next(held ? left(retryable('held', { notBefore: gate.until })) : verdict)
            },
            complete: () => {
              if (last !== undefined && mistake === 'closes when a delivery ends, not at its verdict')
                note(last)
              receiver.complete()
            },
            error: (defect) => receiver.error(defect),
          })
          return mistake === 'does not pass a cancel on' ? () => {} : cancel
        },
        sink.close,
      )
    }
  }

export const plainHoldingBack: MakeHoldingBack = plainWith('none')

export const holdingBackMutants = mistakes.map((name) => ({ name, make: plainWith(name) }))
