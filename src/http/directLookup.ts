import { readFileSync } from 'node:fs'
import { Resolver } from 'node:dns/promises'
import type { LookupAddress } from 'node:dns'
import type { Lookup } from './lookupGate.ts'

const HOSTS_FILE = process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'

/** Whether name servers may say something else than the system: about a name without a dot, or one of the hosts file. */
const isLocal = (name: string): boolean => {
  if (!name.includes('.')) return true
  try {
    return readFileSync(HOSTS_FILE, 'utf8').toLowerCase().split(/\s+/).includes(name.toLowerCase())
  } catch {
    return false
  }
}

const TIMEOUTS = { timeout: 2_000, tries: 2 }

/** Asks the name servers by c-ares, which needs no thread. Finds nothing if only the system may know the name. */
export const directLookup: Lookup = (name, _options, done) => {
  if (isLocal(name)) {
    done(null, [])
    return
  }
  // Made for each look-up: the name servers of the machine may change.
  const resolver = new Resolver(TIMEOUTS)
  const found = async (answer: Promise<string[]>, family: 4 | 6): Promise<ReadonlyArray<LookupAddress>> =>
    (await answer.catch(() => [])).map((address) => ({ address, family }))
  void Promise.all([found(resolver.resolve4(name), 4), found(resolver.resolve6(name), 6)]).then((all) =>
    done(null, all.flat()),
  )
}
