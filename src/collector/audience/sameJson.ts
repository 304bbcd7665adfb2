import * as Limits from '../../event/Limits.ts'

/** How many members may still be looked at. What was not copied may contain itself. */
interface Budget {
  left: number
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const sameMembers = (a: object, b: object, depth: number, budget: Budget): boolean => {
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  budget.left -= keys.length
  if (budget.left < 0 || keys.length !== Object.keys(b).length) return false
  return keys.every(
    (key) =>
      Object.hasOwn(b, key) &&
      // Sound for every object: it is read by a key of its own, and what stands there stays unknown.
      same((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key], depth + 1, budget),
  )
}

const isData = (value: object): boolean =>
  Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype

const same = (a: unknown, b: unknown, depth: number, budget: Budget): boolean => {
  if (a === b || Object.is(a, b)) return true
  if (!isObject(a) || !isObject(b) || depth >= Limits.nesting) return false
  return isData(a) && isData(b) && sameMembers(a, b, depth, budget)
}

/**
 * Whether two values are the same as JSON data: the order of an object's keys means nothing, that of an array's members does. What is
 * no plain data is the same as itself only.
 */
export const sameJson = (a: unknown, b: unknown): boolean => {
  try {
    return same(a, b, 0, { left: Limits.values })
  } catch {
    // A getter that throws; who cannot be read cannot be known to be the same.
    return false
  }
}
