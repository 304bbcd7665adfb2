/** The one source of chance: numbers in [0, 1). Jitter is the only thing in headrace that draws from it. */
export type Random = () => number

/** The machine's own chance. */
export const systemRandom: Random = Math.random
