import { full, type Full } from './refusal.ts'

/** The bounds of a queue or a store. */
export interface Bounds {
  readonly maxCount: number
  readonly maxBytes: number
}

/** The refusal if `count` others fill the bounds, or if `bytes`, the input's among them, exceed them. */
export const fullIn = (
  input: unknown,
  count: number,
  bytes: number,
  { maxCount, maxBytes }: Bounds,
): Full | undefined => {
  if (count >= maxCount) return full(input, 'count', maxCount)
  return bytes > maxBytes ? full(input, 'bytes', maxBytes) : undefined
}
