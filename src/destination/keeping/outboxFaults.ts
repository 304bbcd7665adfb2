import { hasFunctions } from '../../internal/Fields.ts'
import { folderFaults } from '../../outbox/lmdb/opening/folderFaults.ts'
import type { Fault } from '../../outcome/Refusal.ts'
import { outboxMethods } from '../../sink/Outbox.ts'

const NEITHER: Fault = { path: 'outbox', message: 'must be { path } of a folder, or an Outbox' }

/** What is wrong with the `outbox` of a destination; undefined stands for memory. */
export const outboxFaults = (outbox: unknown): ReadonlyArray<Fault> => {
  if (outbox === undefined) return []
  if (typeof outbox !== 'object' || outbox === null) return [NEITHER]
  if (!('append' in outbox))
    return folderFaults(outbox).map(({ path, message }) => ({ path: `outbox.${path}`, message }))
  return hasFunctions(outbox, outboxMethods) ? [] : [NEITHER]
}
