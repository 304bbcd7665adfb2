/** Telling in its simplest form: one thing after the other, also what is caused by being told. */
export interface ModelTelling {
  /** What was told, each with its moment. */
  readonly outcomes: ReadonlyArray<string>
  readonly onEvent: (text: string) => void
  /** Somebody is told of a drop: there and then nothing is dropped for what he sends. */
  readonly tellsOfDrop: () => boolean
  /** Has `call` called by the next so many that are told. */
  readonly react: (times: number, call: () => void) => void
}

export const modelTelling = (now: () => number): ModelTelling => {
  const outcomes: string[] = []
  const untold: Array<{ readonly text: string }> = []
  let reactions = 0
  let reaction = (): void => undefined
  let telling = false
  let tellsOfDrop = false

  return {
    outcomes,
    onEvent: (text) => {
      untold.push({ text })
      if (telling) return
      telling = true
      for (let next = untold.shift(); next !== undefined; next = untold.shift()) {
        outcomes.push(`${String(now())} ${next.text}`)
        tellsOfDrop = next.text.startsWith('dropped')
        if (reactions-- > 0) reaction()
        tellsOfDrop = false
      }
      telling = false
    },
    tellsOfDrop: () => tellsOfDrop,
    react: (times, call) => {
      reactions = times
      reaction = call
    },
  }
}
