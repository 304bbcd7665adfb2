import { isRecord } from '../../internal/Fields.ts'
import type { Fault } from '../../outcome/Refusal.ts'

/** A fault. */
export const at = (path: string, message: string): Fault => ({ path, message })

/** A misspelt setting is a fault (HD14). */
export const unknownKeys = (
  value: object,
  known: ReadonlyArray<string>,
  path: string,
): ReadonlyArray<Fault> =>
  Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => at(path + key, `is no setting; there are ${known.join(', ')}`))

/** Whether a value is a string that is not empty. */
export const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** For what must be a string that is not empty. */
export const textFaults = (value: unknown, path: string): ReadonlyArray<Fault> =>
  isText(value) ? [] : [at(path, 'must be a string that is not empty')]

/** For what must be true or false, or absent. */
export const switchFaults = (value: unknown, path: string): ReadonlyArray<Fault> =>
  value === undefined || typeof value === 'boolean' ? [] : [at(path, 'must be true or false')]

/** Of entries that must differ, those that repeat an earlier one. */
export const repeated = (
  keys: ReadonlyArray<string | undefined>,
  pathOf: (index: number) => string,
): ReadonlyArray<Fault> => {
  const first = new Map<string, number>()
  return keys.flatMap((key, index) => {
    if (key === undefined) return []
    const before = first.get(key)
    if (before === undefined) first.set(key, index)
    return before === undefined ? [] : [at(pathOf(index), `is the same as ${pathOf(before)}`)]
  })
}

/** A member of each entry; undefined where the entry is no object. */
export const membersOf = (list: ReadonlyArray<unknown>, key: string): ReadonlyArray<unknown> =>
  list.map((each) => (isRecord(each) ? each[key] : undefined))

/** The strings among values, each in its place. */
export const textsOf = (values: ReadonlyArray<unknown>): ReadonlyArray<string | undefined> =>
  values.map((value) => (isText(value) ? value : undefined))
