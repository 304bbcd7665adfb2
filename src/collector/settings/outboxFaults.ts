import type { Fault } from '../../outcome/Refusal.ts'
import { at, isRecord, textFaults, unknownKeys } from './Checks.ts'

const NUMBERS = ['maxCount', 'maxBytes', 'keepDead']

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 1

/** What is wrong with the folder of a destination; undefined stands for memory. */
export const outboxFaults = (outbox: unknown, path: string): ReadonlyArray<Fault> => {
  if (outbox === undefined) return []
  if (!isRecord(outbox)) return [at(path, 'must be an object with the path of a folder')]
  return [
    ...textFaults(outbox['path'], `${path}.path`),
    ...NUMBERS.flatMap((name) =>
      outbox[name] === undefined || isCount(outbox[name])
        ? []
        : [at(`${path}.${name}`, 'must be a whole number from 1')],
    ),
    ...unknownKeys(outbox, ['path', ...NUMBERS], `${path}.`),
  ]
}
