/** Flushes in their simplest form: a list, and in each entry the messages that it waits for. */
interface Flush {
  readonly index: number
  readonly ids: ReadonlySet<string>
}

export interface ModelFlushes {
  /** What each was answered, by the order in which they were asked for. */
  readonly answers: ReadonlyArray<string>
  /** A message is one that a flush waits for. */
  readonly began: (id: string) => void
  /** A batch is over: all its messages have been told of. */
  readonly ended: (ids: ReadonlyArray<string>) => void
  /** Begins one, and answers what lets it go before its time. */
  readonly flush: () => () => void
}

export const modelFlushes = (answer: () => string): ModelFlushes => {
  const answers: string[] = []
  const pending: Flush[] = []
  const unfinished = new Set<string>()

  const letGo = (index: number): void => {
    answers[index] ??= answer()
  }

  /** They are let go in their order, when all before them have been. */
  const release = (): void => {
    while (pending[0] !== undefined && [...pending[0].ids].every((id) => !unfinished.has(id))) {
      letGo(pending[0].index)
      pending.shift()
    }
  }

  return {
    answers,
    began: (id) => {
      unfinished.add(id)
    },
    ended: (ids) => {
      for (const id of ids) unfinished.delete(id)
      release()
    },
    flush: () => {
      const index = answers.length
      answers.length++
      pending.push({ index, ids: new Set(unfinished) })
      release()
      return () => {
        letGo(index)
      }
    },
  }
}
