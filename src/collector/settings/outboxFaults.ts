import { folderFaults } from '../../outbox/lmdb/opening/folderFaults.ts'
import type { Fault } from '../../outcome/Refusal.ts'
import { isRecord } from '../../internal/Fields.ts'
import { at } from './Checks.ts'

/** What is wrong with the folder of a destination; undefined stands for memory. */
export const outboxFaults = (outbox: unknown, path: string): ReadonlyArray<Fault> => {
  if (outbox === undefined) return []
  if (!isRecord(outbox)) return [at(path, 'must be an object with the path of a folder')]
  return folderFaults(outbox).map((each) => at(`${path}.${each.path}`, each.message))
}
