import type { LookupAddress, LookupAllOptions } from 'node:dns'
import { codeOf, isError } from '../core/failure.ts'

type Found = (error: NodeJS.ErrnoException | null, found: ReadonlyArray<LookupAddress>) => void

export type Lookup = (name: string, options: LookupAllOptions, done: Found) => void

const HOSTS_FILE = process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'

/** Whether name servers may differ from the system: for a name without a dot, or of the hosts file. */
const isLocalName = async (name: string, hostsFile: string): Promise<boolean> => {
  if (!name.includes('.')) return true
  const { readFile } = process.getBuiltinModule('node:fs/promises')
  const hosts = await readFile(hostsFile, 'latin1').catch(() => '')
  return hosts.toLowerCase().split(/\s+/).includes(name.toLowerCase())
}

/** Two seconds in all for one name server, so that the rest of an attempt is left for the system. */
const TIMEOUTS = { timeout: 500, tries: 2 }

/** Whether the name servers were silent, or one behind them was. */
const isSilent = (answer: PromiseSettledResult<unknown>): boolean =>
  answer.status === 'rejected' && /^E(TIMEOUT|SERVFAIL)$/.test(codeOf(answer.reason))

/** The answer of the name servers, by c-ares, which needs no thread. */
const askNameServers = async (name: string): Promise<ReadonlyArray<LookupAddress> | 'silent'> => {
  // Made for each look-up: the name servers of the machine may change.
  const { Resolver } = process.getBuiltinModule('node:dns/promises')
  const resolver = new Resolver(TIMEOUTS)
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const found = answers.flatMap((answer, v6) =>
    answer.status === 'rejected' ? [] : answer.value.map((address) => ({ address, family: v6 ? 6 : 4 })),
  )
  return found.length === 0 && answers.some(isSilent) ? 'silent' : found
}

/**
 * Asks the name servers, and then the system if they find nothing. A look-up of the system occupies one of
 * libuv's two threads for them until it ends: names of silent servers have one. Look-ups of one name at the
 * same time are one.
 */
export const makeLookup = (system: Lookup, hostsFile: string): Lookup => {
  const callers = new Map<string, ReadonlyArray<Found>>()
  /** Whether the system is asked for a name of silent servers. */
  let isWaiting = false
  return (name, options, done) => {
    const others = callers.get(name)
    callers.set(name, [...(others ?? []), done])
    if (others !== undefined) return
    const answer: Found = (error, found) => {
      const all = callers.get(name) ?? []
      callers.delete(name)
      for (const each of all) each(error, found)
    }
    const ask = async (): Promise<void> => {
      const found = (await isLocalName(name, hostsFile)) ? [] : await askNameServers(name)
      if (found !== 'silent' && found.length > 0) answer(null, found)
      else if (found !== 'silent') system(name, options, answer)
      else if (isWaiting) answer(Object.assign(new Error('silent name servers'), { code: 'EAI_AGAIN' }), [])
      else {
        isWaiting = true
        system(name, options, (...given) => {
          isWaiting = false
          answer(...given)
        })
      }
    }
    // Without an answer all later look-ups of the name would wait for this one.
    ask().catch((error: unknown) => answer(isError(error) ? error : new Error(String(error)), []))
  }
}

/** Of the whole process. Node's modules of the network are loaded when they are needed: that takes 5 ms. */
export const lookup = makeLookup((...all) => process.getBuiltinModule('node:dns').lookup(...all), HOSTS_FILE)
