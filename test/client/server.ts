/** What an endpoint does to a request, as data. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import type { MessageBatch } from '../../src/client/Message.ts'
import { refused, retryable, partlyFailed } from '../../src/core/failure.ts'
import type { Verdict } from '../../src/core/failure.ts'
import type { Reply } from '../../src/testing/scriptedSink.ts'

export interface Step {
  readonly answer: 'ok' | 'gone' | 'busy' | 'wait' | 'hang' | 'defect' | 'some' | 'few'
  /** Milliseconds until the verdict, and from the verdict to rest. Undefined: at once. */
  readonly after: number | undefined
  readonly rest: number | undefined
}

export const step: fc.Arbitrary<Step> = fc.record({
  answer: fc.constantFrom(
    ...([
      'ok',
      'ok',
      'ok',
      'gone',
      'busy',
      'busy',
      'wait',
      'hang',
      'defect',
      'some',
      'some',
      'few',
      'few',
    ] as const),
  ),
  after: fc.constantFrom(undefined, undefined, 0, 1, 40, 400),
  rest: fc.constantFrom(undefined, undefined, undefined, 30, 400),
})

/** So long a `wait` asks to be left alone. */
export const LEFT_ALONE = 700

const yes: Verdict = right({ sink: 'scripted', status: 200 })
const status = (code: number): Verdict =>
  left(code < 500 ? refused('status', { status: code }) : retryable('status', { status: code }))

/** Whether a message is one that the endpoint answers 400 to, whatever stands beside it. */
export const isPoison = (id: string): boolean => id.startsWith('p')

const accepting = (batch: MessageBatch): Verdict =>
  batch.members.some(({ id }) => isPoison(id)) ? status(400) : yes

const some = (batch: MessageBatch): Verdict =>
  left(
    partlyFailed(
      batch.members.map((_, at) => {
        if (at % 3 === 0) return yes
        return at % 3 === 1 ? left(refused('rejected')) : left(retryable('status', { status: 503 }))
      }),
    ),
  )

const verdictOf = (answer: Step['answer'], batch: MessageBatch, now: number): Verdict => {
  switch (answer) {
    case 'gone':
      return status(410)
    case 'busy':
      return status(503)
    case 'wait':
      return left(retryable('status', { status: 429, notBefore: now + LEFT_ALONE }))
    case 'some':
      return some(batch)
    case 'few':
      return batch.members.length > 2 ? status(413) : accepting(batch)
    default:
      return accepting(batch)
  }
}

export const replyOf = ({ answer, after, rest }: Step, batch: MessageBatch, now: number): Reply => {
  const timing = { ...(after === undefined ? {} : { after }), ...(rest === undefined ? {} : { rest }) }
  if (answer === 'hang') return {}
  if (answer === 'defect') return { ...timing, defect: new Error('a planted defect') }
  // What it says at the verdict counts from then.
  return { ...timing, verdict: verdictOf(answer, batch, now + (after ?? 0)) }
}
