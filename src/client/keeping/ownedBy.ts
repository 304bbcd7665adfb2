import { isStoredIn } from '../../outbox/lmdb/LmdbContract.ts'
import { sign } from '../../signing/sign.ts'
import type { ClientOptions } from '../ClientOptions.ts'

/** Enough to tell the keys of one host apart, and too little to learn one from. */
const SHORT = 8

/** A folder belongs to the client of a write key, unless it says whose it is. The key itself is never stored. */
export const ownedBy = <S extends Pick<ClientOptions, 'outbox'>>(writeKey: string, settings: S): S => {
  const { outbox } = settings
  if (!isStoredIn(outbox)) return settings
  const owner = `write key #${sign('the owner of an outbox', writeKey).slice(0, SHORT)}`
  return { ...settings, outbox: { owner, ...outbox } }
}
