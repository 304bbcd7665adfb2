/** A file of dead letters has it on every line. */
const EXPECTED = new Set(['reason'])
/** So many names are remembered; what comes after them is not told. */
const MOST = 100

/** Lets each name through once, so that a misspelt key is told and a file full of them floods nobody. */
export const newlyDropped = (): ((keys: ReadonlyArray<string>) => ReadonlyArray<string>) => {
  const seen = new Set<string>()
  return (keys) => {
    const fresh = keys.filter((key) => !EXPECTED.has(key) && !seen.has(key)).slice(0, MOST - seen.size)
    for (const key of fresh) seen.add(key)
    return fresh
  }
}
