import { right, type Either } from 'fp-ts/lib/Either.js'
import { concatMap, map, pipe, tap } from 'rxjs'
import { answerOn, carry, joinedAnswer, STORED, withAnswer } from '../../src/core/carry.ts'
import { batch, deliver, splitRight, type ItemBatchOptions } from '../../src/index.ts'
import { acknowledged, type Answers } from '../../src/sources/acknowledged.ts'
import { acknowledgedLaws, type Acknowledging } from '../laws/acknowledged.laws.ts'
import { itCatches } from '../support/mutants.ts'

type Each = Either<unknown, unknown>
const whole: Acknowledging = { acknowledged, splitRight, batch, deliver }

const answering = (change: <M, T>(answers: Answers<M, T>) => Partial<Answers<M, T>>): Acknowledging => ({
  ...whole,
  acknowledged: (messages, answers, pipeline) =>
    acknowledged(messages, { ...answers, ...change(answers) }, pipeline),
})
// The operators below have other types than those that they stand for, and carry the same values.
const acksEarly = (...given: Parameters<typeof deliver>) =>
  pipe(
    tap((each: Each) => answerOn(each)?.end(STORED)),
    deliver(...given),
  )
const splits = (split: (item: unknown) => ReadonlyArray<unknown>) =>
  concatMap((each: Each) =>
    each._tag === 'Left' ? [each] : split(each.right).map((part) => carry(each, right(part))),
  )
const reversed = (each: Each): Each => {
  const members = answerOn(each)?.members
  return members === undefined ? each : withAnswer(each, joinedAnswer([...members].reverse()))
}
const batches = (options: ItemBatchOptions<unknown>) => pipe(batch(options), map(reversed))

itCatches<Acknowledging>('acknowledged', acknowledgedLaws, {
  'what is open at a close is not put back': [
    'K1',
    answering(({ nak }) => ({ nak: (m, why) => why._tag === 'Abandoned' || nak(m, why) })),
  ],
  'an ack is repeated': ['K1', answering(({ ack }) => ({ ack: (m) => [ack(m), ack(m)] }))],
  'a lost message is answered': ['K1', answering(() => ({ lost: () => false }))],
  'deliver acks what it takes': ['K2', { ...whole, deliver: acksEarly as never }],
  'the first part that ends is the answer': ['K2', { ...whole, splitRight: splits as never }],
  'the members of a batch are in another order': ['K3', { ...whole, batch: batches as never }],
  'what is rejected is acked': ['K3', answering(({ ack }) => ({ reject: ack }))],
  'the window has one more': ['K4', answering(({ window = 1 }) => ({ window: window + 1 }))],
  'it extends late': ['K5', answering(({ extendEvery = 1 }) => ({ extendEvery: extendEvery + 1 }))],
  'it does not wait for its answers': [
    'K6',
    answering(({ ack }) => ({ ack: (m) => void Promise.resolve(ack(m)).catch(() => undefined) })),
  ],
})
