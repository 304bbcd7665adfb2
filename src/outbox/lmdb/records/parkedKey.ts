import type { ParkedKey } from '../oldStore.ts'

/** A moment that has an order: all numbers have one but NaN, and a key holds no infinity. */
const orderly = (due: number): number =>
  Number.isNaN(due) ? 0 : Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, due))

/** Where the entry with this number lies while it waits until `due`. */
export const parkedKey = (due: number, number: number): ParkedKey => [orderly(due), number]
