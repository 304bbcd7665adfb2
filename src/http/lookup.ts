import type { LookupAddress, LookupAllOptions } from 'node:dns'
import { codeOf } from '../core/failure.ts'

type Found = ReadonlyArray<LookupAddress>
type OnFound = (error: NodeJS.ErrnoException | null, found: Found) => void
type SystemLookup = (name: string, options: LookupAllOptions) => Promise<Found>
export type Lookup = (name: string, options: LookupAllOptions, done: OnFound) => void

const HOSTS_FILE = process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'

/**
 * The names to ask name servers for; none if they may differ from the system: for a name without a dot, or of
 * the hosts file. One of fewer dots than `ndots` is first looked for in the domains of `search`, as by the
 * system: in a cluster `api.dev` is a service, and the public `api.dev` is a stranger.
 */
const namesToAsk = async (name: string, hosts: string, search: string): Promise<ReadonlyArray<string>> => {
  if (!name.includes('.')) return []
  const { readFile } = process.getBuiltinModule('node:fs/promises')
  const texts = [hosts, search].map((file) => readFile(file, 'latin1').catch(() => ''))
  const [known = '', text = ''] = await Promise.all(texts)
  if (known.toLowerCase().split(/\s+/).includes(name.toLowerCase())) return []
  const ndots = Number([...text.matchAll(/^options[ \t](?:.*[ \t])?ndots:(\d+)/gm)].at(-1)?.[1] ?? 1)
  if (name.endsWith('.') || name.split('.').length > ndots) return [name]
  const [, ...domains] = (text.match(/^(search|domain)[ \t].*\S/gm)?.at(-1) ?? '').split(/\s+/)
  return [...domains.map((domain) => `${name}.${domain}`), name]
}

/** Two seconds in all for one name server, so that the rest of an attempt is left for the system. */
const TIMEOUTS = { timeout: 500, tries: 2 }

/** The answer of the name servers, by c-ares, which needs no thread, for the first name that they know. */
const askNameServers = async (names: ReadonlyArray<string>) => {
  for (const name of names) {
    // Made for each look-up: the name servers of the machine may change.
    const { Resolver } = process.getBuiltinModule('node:dns/promises')
    const resolver = new Resolver(TIMEOUTS)
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const found = answers.flatMap((answer, v6) =>
      answer.status === 'rejected' ? [] : answer.value.map((address) => ({ address, family: v6 ? 6 : 4 })),
    )
    if (found.length > 0) return found
    const codes = String(answers.map((answer) => answer.status === 'rejected' && codeOf(answer.reason)))
    // The name servers, or those behind them. The next name may be another host: the system decides.
    if (/TIMEOUT|SERVFAIL/.test(codes)) return 'silent'
    if (!/^(,?E(NOTFOUND|NODATA))+$/.test(codes)) break
  }
  return []
}

/**
 * Asks the name servers, and then the system if they find nothing. A look-up of the system occupies one of
 * libuv's two threads for them until it ends: names of silent servers have one. Look-ups of one name at the
 * same time are one.
 */
export const makeLookup = (system: SystemLookup, hosts: string, search: string): Lookup => {
  const running = new Map<string, Promise<Found>>()
  /** Whether the system is asked for a name of silent servers. */
  let isWaiting = false
  const ask = async (name: string, options: LookupAllOptions): Promise<Found> => {
    const found = await askNameServers(await namesToAsk(name, hosts, search))
    if (found !== 'silent') return found.length > 0 ? found : system(name, options)
    if (isWaiting) throw Object.assign(new Error('silent name servers'), { code: 'EAI_AGAIN' })
    isWaiting = true
    return system(name, options).finally(() => (isWaiting = false))
  }
  return (name, options, done) => {
    const found = running.get(name) ?? ask(name, options).finally(() => running.delete(name))
    running.set(name, found)
    // Name servers and system reject with such.
    const failed = (error: unknown): void => done(error as NodeJS.ErrnoException, [])
    found.then((all) => done(null, all), failed)
  }
}

/** Of the whole process. Node's modules of the network are loaded when they are needed: that takes 5 ms. */
const ofSystem: SystemLookup = (...all) => process.getBuiltinModule('node:dns/promises').lookup(...all)
export const lookup = makeLookup(ofSystem, HOSTS_FILE, '/etc/resolv.conf')
