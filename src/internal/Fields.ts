/** Any object. What stands under its keys is unknown. */
export type Fields = Readonly<Record<string, unknown>>

/** Whether a value is an object with members, and neither an array nor null. */
export const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a value is an object that has these functions. */
export const hasFunctions = (value: unknown, names: ReadonlyArray<string>): value is Fields =>
  isRecord(value) && names.every((name) => typeof value[name] === 'function')
