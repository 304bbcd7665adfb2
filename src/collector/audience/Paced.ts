import { nextTurn } from '../../clock/nextTurn.ts'

/**
 * Values that are made one at a time, when they are asked for, and can be gone through any number of times. `for await` lets other work
 * of the process have its turn now and then, however many there are; `for` goes straight through.
 */
export interface Paced<A> extends Iterable<A>, AsyncIterable<A> {}

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    nextTurn(resolve)
  })

/** Of a walk that says undefined where others may have a turn. */
export const paced = <A extends object, B>(
  walk: () => Iterable<A | undefined>,
  toValue: (step: A) => B,
): Paced<B> => ({
  *[Symbol.iterator]() {
    for (const step of walk()) if (step !== undefined) yield toValue(step)
  },
  async *[Symbol.asyncIterator]() {
    for (const step of walk()) {
      if (step === undefined) await turn()
      else yield toValue(step)
    }
  },
})
