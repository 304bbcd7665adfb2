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
const ackNow = tap((each: Each) => answerOn(each)?.end(STORED))
const acksEarly = (...given: Parameters<typeof deliver>) => pipe(ackNow, deliver(...given))
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
  'K1: what is open at a close is not put back': answering(({ nak }) => ({
    nak: (m, why) => why._tag === 'Abandoned' || nak(m, why),
  })),
  'K1: an ack is repeated': answering(({ ack }) => ({ ack: (m) => [ack(m), ack(m)] })),
  'K1: a lost message is answered': answering(() => ({ lost: () => false })),
  'K2: deliver acks what it takes': { ...whole, deliver: acksEarly as never },
  'K2: the first part that ends is the answer': { ...whole, splitRight: splits as never },
  'K3: the members of a batch are in another order': { ...whole, batch: batches as never },
  'K3: what is rejected is acked': answering(({ ack }) => ({ reject: ack })),
  'K4: the window has one more': answering(({ window = 1 }) => ({ window: window + 1 })),
  'K5: it extends late': answering(({ extendEvery = 1 }) => ({ extendEvery: extendEvery + 1 })),
  'K5: it does not extend while it answers': answering(({ ack, extend }) => {
    const begun = new Set<unknown>()
    return { ack: (m) => (begun.add(m), ack(m)), extend: (m) => begun.has(m) || extend?.(m) }
  }),
  'K6: it does not wait for its answers': answering(({ ack }) => ({
    ack: (m) => void Promise.resolve(ack(m)).catch(() => undefined),
  })),
})
