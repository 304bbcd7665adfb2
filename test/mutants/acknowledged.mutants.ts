import { right } from 'fp-ts/lib/Either.js'
import { concatMap, map, tap } from 'rxjs'
import { answerOn, carry, joined, STORED, withAnswer } from '../../src/core/carry.ts'
import { batch, deliver, splitRight } from '../../src/index.ts'
import { acknowledged, type Answers } from '../../src/sources/acknowledged.ts'
import { acknowledgedLaws, type Acknowledging } from '../laws/acknowledged.laws.ts'
import { itCatches } from '../support/mutants.ts'

const whole: Acknowledging = { acknowledged, splitRight, batch, deliver }

/** With other answers. */
const answering = (change: <M, T>(answers: Answers<M, T>) => Partial<Answers<M, T>>): Acknowledging => ({
  ...whole,
  acknowledged: (messages, answers, pipeline) =>
    acknowledged(messages, { ...answers, ...change(answers) }, pipeline),
})
/** With another answer on each `Either` that an operator emits, or takes. */
const riding = (change: (each: object) => object) => map((each: object) => change(each)) as never

itCatches<Acknowledging>('acknowledged', acknowledgedLaws, {
  'what is open at a close is not put back': [
    'K1',
    answering(({ nak }) => ({ nak: (m, why) => why._tag === 'Abandoned' || nak(m, why) })),
  ],
  'an ack is repeated': ['K1', answering(({ ack }) => ({ ack: (m) => [ack(m), ack(m)] }))],
  'a lost message is answered': ['K1', answering(() => ({ lost: () => false }))],
  'deliver acks what it takes': [
    'K2',
    {
      ...whole,
      deliver: ((...given: Parameters<typeof deliver>) => (source: never) =>
        deliver(...given)((source as any).pipe(tap((each: object) => answerOn(each)?.end(STORED))))) as never,
    },
  ],
  'the first part that ends is the answer': [
    'K2',
    {
      ...whole,
      splitRight: ((split: (item: unknown) => ReadonlyArray<unknown>) =>
        concatMap((each: any) =>
          each._tag === 'Left' ? [each] : split(each.right).map((part) => carry(each, right(part))),
        )) as never,
    },
  ],
  'the members of a batch are in another order': [
    'K3',
    {
      ...whole,
      batch: ((options: never) => (source: never) =>
        (batch(options)(source) as any).pipe(
          map((each: any) => {
            const members = answerOn(each)?.members
            return members ? withAnswer(each, joined([...members].reverse())) : each
          }),
        )) as never,
    },
  ],
  'what is rejected is put back': ['K3', answering(({ nak }) => ({ reject: (m) => nak(m, undefined as never) }))],
  'the window has one more': ['K4', answering(({ window = 1 }) => ({ window: window + 1 }))],
  'it extends late': ['K5', answering(({ extendEvery = 1 }) => ({ extendEvery: extendEvery + 1 }))],
  'it does not wait for its answers': ['K6', answering(({ ack }) => ({ ack: (m) => void ack(m) }))],
})
