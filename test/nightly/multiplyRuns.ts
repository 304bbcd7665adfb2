/** How many times as many runs every law gets in the nightly. */
export const NIGHTLY = 10

/** The text of a test in which every `numRuns: 1_000` is so many times as large. Tests need not know of the nightly. */
export const multiplyRuns = (code: string, factor: number): string =>
  code.replaceAll(/\bnumRuns:(\s*)(\d[\d_]*)\b/g, (_, blanks: string, runs: string) => {
    return `numRuns:${blanks}${Number(runs.replaceAll('_', '')) * factor}`
  })
