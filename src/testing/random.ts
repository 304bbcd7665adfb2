import type { Random } from '../core/clock.ts'

/**
 * Random numbers that a seed repeats: mulberry32, with 2^32 numbers before it repeats. For tests and
 * simulations, never for secrets. Any number is a seed; it is cut to 32 bits.
 */
export const seededRandom = (seed: number): Random => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
