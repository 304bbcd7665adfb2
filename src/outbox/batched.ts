/**
 * Group commit: one list is under way at a time, and all that is asked meanwhile is the next list.
 *
 * @module
 */
import { queue } from '../core/queue.ts'

/** The bounds of a list. An ask that is larger is a list of its own. */
const MAX_COUNT = 1_000
const MAX_BYTES = 1_048_576

interface Ask<A, B> {
  readonly item: A
  readonly count: number
  readonly bytes: number
  readonly resolve: (answer: B) => void
  readonly reject: (error: unknown) => void
}

/**
 * Joins calls of one kind into lists. A store makes one of these for each kind of call, so one sync or one
 * round trip serves all callers that wait for it.
 *
 * `run` calls `take` once, when it can start: the list holds all that was asked until then. It answers a
 * value for each, by place. If it fails, all of its list reject, and the next list has its turn.
 */
export const batched = <A, B>(run: (take: () => ReadonlyArray<A>) => Promise<ReadonlyArray<B>>) => {
  const waiting = queue<Ask<A, B>>()
  let running: Promise<void> | undefined

  const nextList = (): ReadonlyArray<Ask<A, B>> => {
    const asks: Array<Ask<A, B>> = []
    let count = 0
    let bytes = 0
    for (let ask = waiting.peek(); ask !== undefined; ask = waiting.peek()) {
      count += ask.count
      bytes += ask.bytes
      if (asks.length > 0 && (count > MAX_COUNT || bytes > MAX_BYTES)) break
      asks.push(ask)
      waiting.shift()
    }
    return asks
  }

  const runNext = async (): Promise<void> => {
    let asks: ReadonlyArray<Ask<A, B>> | undefined
    try {
      const answers = await run(() => (asks ??= nextList()).map(({ item }) => item))
      if (answers.length !== asks?.length) throw new Error('a list was not answered by place')
      // There is an answer at each place.
      for (const [at, { resolve }] of asks.entries()) resolve(answers[at] as B)
    } catch (error) {
      // If `run` failed before it took its list, this is the list.
      for (const { reject } of asks ?? nextList()) reject(error)
    }
  }

  const runAll = async (): Promise<void> => {
    while (waiting.size() > 0) await runNext()
    running = undefined
  }

  return {
    /** Settles as its place in a list does. `count` and `bytes` are its share of the bounds. */
    ask: (item: A, count = 1, bytes = 0): Promise<B> =>
      new Promise((resolve, reject) => {
        waiting.push({ item, count, bytes, resolve, reject })
        // Not in the call: at the end of its stack a list would fail, and `running` stay set.
        running ??= Promise.resolve().then(runAll)
      }),
    /** Resolves when all that was asked is answered. */
    idle: async (): Promise<void> => running,
  }
}
