import type { Fault } from '../../../core/refusal.ts'

/** What may be set beside the path, each a whole number from so much. */
const NUMBERS: Readonly<Record<string, number>> = { maxCount: 1, maxBytes: 1, keepDead: 0 }

const KNOWN = ['path', ...Object.keys(NUMBERS), 'owner']

const isWhole = (value: unknown, least: number): boolean =>
  Number.isSafeInteger(value) && Number(value) >= least

/** What is wrong with the settings of a folder, `{ path, … }`, by the names of its fields; nothing if they are right. */
export const folderFaults = (folder: object): ReadonlyArray<Fault> => {
  // What stands under a key stays unknown.
  const fields = new Map<string, unknown>(Object.entries(folder))
  const path = fields.get('path')
  const owner = fields.get('owner')
  return [
    ...(typeof path === 'string' && path !== ''
      ? []
      : [{ path: 'path', message: 'must be a string that is not empty' }]),
    ...(owner === undefined || (typeof owner === 'string' && owner !== '')
      ? []
      : [{ path: 'owner', message: 'must be a string that is not empty' }]),
    ...Object.entries(NUMBERS).flatMap(([name, least]) => {
      const value = fields.get(name)
      return value === undefined || isWhole(value, least)
        ? []
        : [{ path: name, message: `must be a whole number from ${String(least)}` }]
    }),
    ...[...fields.keys()]
      .filter((name) => !KNOWN.includes(name))
      .map((name) => ({ path: name, message: `is no setting; there are ${KNOWN.join(', ')}` })),
  ]
}
