import { expired as expiredFailure, isRetryable } from '../../core/failure.ts'
import type { Failure, Verdict } from '../../core/failure.ts'
import { abandoned, delivered, dropped, expired, rejected } from '../../core/outcome.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { Message, MessageBatch } from '../Message.ts'

/** What is known of the members of a batch, one verdict each; undefined if all that is known concerns the batch as a whole. */
const membersOf = (failure: Failure | undefined, count: number): ReadonlyArray<Verdict> | undefined =>
  failure?._tag === 'PartlyFailed' && failure.members.length === count ? failure.members : undefined

/** How the batch failed the last time. */
const lastOf = (outcome: Outcome<MessageBatch>): Failure | undefined => {
  switch (outcome._tag) {
    case 'Delivered':
    case 'Dropped':
      return undefined
    case 'Rejected':
      return outcome.failure
    case 'Expired':
      return outcome.failure.lastFailure
    case 'Abandoned':
      return outcome.lastFailure
  }
}

/** The end of a message that shares its batch's; `failure` is its own where the batch knows one for each. */
const endedAs = (
  outcome: Outcome<MessageBatch>,
  message: Message,
  failure: Failure | undefined,
): Outcome<Message> => {
  const { attempts } = outcome
  switch (outcome._tag) {
    case 'Delivered':
      return delivered(message, attempts, outcome.receipt)
    case 'Rejected':
      return rejected(message, attempts, failure ?? outcome.failure)
    case 'Expired':
      return expired(
        message,
        failure === undefined
          ? outcome.failure
          : expiredFailure(attempts, outcome.failure.firstAttemptAt, failure),
      )
    case 'Dropped':
      return dropped(message, attempts, outcome.reason)
    case 'Abandoned':
      return abandoned(message, attempts, failure ?? outcome.lastFailure)
  }
}

/**
 * The outcomes of a batch's messages, in their order: one each. What was settled for a member stands, however the batch ended: who was
 * taken in an earlier request is delivered, who was refused for good is rejected.
 *
 * @param last how the batch failed the last time, if the outcome does not say
 */
export const dealOut = (
  outcome: Outcome<MessageBatch>,
  last: Failure | undefined = lastOf(outcome),
): ReadonlyArray<Outcome<Message>> => {
  const { item: batch, attempts } = outcome
  const verdicts = outcome._tag === 'Delivered' ? undefined : membersOf(last, batch.members.length)
  if (verdicts === undefined) return batch.members.map((message) => endedAs(outcome, message, undefined))
  return batch.members.map((message, at) => {
    const verdict = verdicts[at]
    if (verdict === undefined) return endedAs(outcome, message, undefined)
    if (verdict._tag === 'Right') return delivered(message, attempts, verdict.right)
    if (verdict.left._tag === 'Expired') return expired(message, verdict.left)
    return isRetryable(verdict.left)
      ? endedAs(outcome, message, verdict.left)
      : rejected(message, attempts, verdict.left)
  })
}
