import { outboxFault } from '../OutboxError.ts'
import type { OutboxFault } from '../OutboxError.ts'
import { TOTALS_KEY } from '../oldStore.ts'
import type { Store } from '../oldStore.ts'
import { totalsFromText } from '../records/StoredTotals.ts'

const OWNER_KEY = 'owner'

const isEmpty = (own: Store['own']): boolean => {
  const totals = totalsFromText(own.get(TOTALS_KEY) ?? '')
  return totals?.waiting === 0 && totals.dead === 0
}

const someoneElses = (path: string, found: string, owner: string): OutboxFault =>
  outboxFault(
    'otherOwner',
    path,
    `the outbox in ${path} holds what belongs to ${JSON.stringify(found)}, and was opened for ${JSON.stringify(owner)}: give each its own folder, or, if it is the same one under another name, set the owner of this outbox to ${JSON.stringify(found)}`,
  )

/**
 * Makes a store the one of this owner, or says whose it is: what waits for one receiver must not go to another. A store in which nothing lies
 * is nobody's. Whoever does not say who he is may have any.
 */
export const belonging = (
  { env, own }: Pick<Store, 'env' | 'own'>,
  path: string,
  owner: string | undefined,
): OutboxFault | undefined => {
  const found = own.get(OWNER_KEY)
  if (owner === undefined || found === owner) return undefined
  if (found !== undefined && !isEmpty(own)) return someoneElses(path, found, owner)
  try {
    env.transactionSync(() => own.putSync(OWNER_KEY, owner))
  } catch {
    // A disk that is full must not keep what waits from being sent. The next opening notes it.
  }
  return undefined
}
