/**
 * Which addresses may be dialled (DE13). A URL that somebody else chose can point into the own network: at a neighbour's port,
 * or at the address where a cloud hands out its credentials. Every road to an address is judged here, in every spelling.
 *
 * @module
 */

import ipaddr from 'ipaddr.js'
import { lookup as systemLookup } from 'node:dns'
import type { LookupAddress, LookupAllOptions } from 'node:dns'
import { isIP } from 'node:net'
import type { LookupFunction } from 'node:net'
import type { Fault } from '../core/refusal.ts'
import { blockedAddress } from './networkError.ts'

type Bytes = ReadonlyArray<number>

const startsWith = (bytes: Bytes, prefix: Bytes): boolean => prefix.every((byte, at) => bytes[at] === byte)

const zeros = (count: number): Bytes => new Array<number>(count).fill(0)

/** Prefixes whose last four bytes are an IPv4 address: mapped, compatible, translated, NAT64. */
const tails: ReadonlyArray<Bytes> = [
  [...zeros(10), 0xff, 0xff],
  zeros(12),
  [...zeros(8), 0xff, 0xff, 0, 0],
  [0x00, 0x64, 0xff, 0x9b, ...zeros(8)],
]

/** NAT64 with a prefix of the own network (RFC 8215), whose length nobody tells: the address may stand at four places (RFC 6052). */
const LOCAL_NAT64: Bytes = [0x00, 0x64, 0xff, 0x9b, 0x00, 0x01]
const places: ReadonlyArray<Bytes> = [
  [6, 7, 9, 10],
  [7, 9, 10, 11],
  [9, 10, 11, 12],
  [12, 13, 14, 15],
]

const SIX_TO_FOUR: Bytes = [0x20, 0x02]
const TEREDO: Bytes = [0x20, 0x01, 0x00, 0x00]
/** Marks an ISATAP address from its ninth byte on; the first of them is 0 or 2. */
const ISATAP: Bytes = [0x00, 0x5e, 0xfe]

/**
 * The IPv4 addresses that an IPv6 address (its 16 bytes) leads to on one of the roads from IPv6 to IPv4. A block list of IPv4
 * rules does not see most of them (webhooks/S4).
 */
export const embeddedIPv4 = (bytes: Bytes): ReadonlyArray<ipaddr.IPv4> => {
  const from = (some: Bytes): ipaddr.IPv4 => new ipaddr.IPv4(some.map((byte) => byte & 0xff))
  const at = (start: number): ipaddr.IPv4 => from(bytes.slice(start, start + 4))
  const found: ipaddr.IPv4[] = []
  if (tails.some((prefix) => startsWith(bytes, prefix))) found.push(at(12))
  if (startsWith(bytes, SIX_TO_FOUR)) found.push(at(2))
  if (startsWith(bytes, TEREDO)) {
    // A Teredo address holds its server, and its client with every bit turned over.
    found.push(at(4), from(bytes.slice(12, 16).map((byte) => ~byte)))
  }
  if (startsWith(bytes, LOCAL_NAT64))
    found.push(...places.map((place) => from(place.map((index) => bytes[index] ?? 0))))
  if ((bytes[8] === 0 || bytes[8] === 2) && startsWith(bytes.slice(9), ISATAP)) found.push(at(12))
  return found
}

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** What may be dialled. */
export interface EgressRules {
  /** `network`, the default: all but link-local and cloud metadata addresses. `public`: only addresses of the public internet. */
  readonly to?: 'network' | 'public'
  /** Holes on purpose: CIDR blocks (`10.1.0.0/16`), addresses, and host names, which then may resolve to anything. */
  readonly allow?: ReadonlyArray<string>
}

/** What may be dialled; `'public'` is short for `{ to: 'public' }`. */
export type Egress = 'network' | 'public' | EgressRules

/** The rules, ready to judge. Both answer why not, in words, or undefined for yes. */
export interface Guard {
  /** A host as it stands in a URL: a literal address is judged, a name only if it is known to be bad. */
  readonly host: (host: string) => string | undefined
  /** An address that a look-up of `host` found. */
  readonly address: (address: string, host: string) => string | undefined
}

/** Where clouds serve metadata, beside the link-local range. */
const metadata: ReadonlyArray<[Address, number]> = [
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
  'fd00:ec2::/32',
  'fd20:ce::/32',
  'fd00:42::42/128',
].map((block) => ipaddr.parseCIDR(block))

const metadataNames: ReadonlyArray<string> = [
  'metadata.google.internal',
  'metadata.goog',
  'instance-data.ec2.internal',
]

/** Ranges that only carry an IPv4 address, which is judged by itself. */
const carriers: ReadonlyArray<string> = ['unicast', 'ipv4Mapped', 'rfc6052']

const within = (address: Address, blocks: ReadonlyArray<[Address, number]>): boolean =>
  blocks.some(([block, bits]) => block.kind() === address.kind() && address.match([block, bits]))

const whyNot = (address: Address, onlyPublic: boolean): string | undefined => {
  const range = address.range()
  if (range === 'linkLocal')
    return 'is a link-local address, where clouds serve their credentials: it is never dialled'
  if (within(address, metadata)) return 'is a cloud metadata address: it is never dialled'
  if (onlyPublic && !carriers.includes(range))
    return 'is no address of the public internet, and only those are dialled'
  return undefined
}

/** An address, and the IPv4 addresses that it leads to. A mapped one is only another spelling, so it does not count itself. */
const faces = (address: Address): ReadonlyArray<Address> =>
  address.kind() === 'ipv4' ? [address] : [address, ...embeddedIPv4(address.toByteArray())]

/** The plain form of a host: no brackets, no final dots, lower case. */
const plain = (host: string): string =>
  host
    .replace(/^\[|\]$/g, '')
    .replace(/\.+$/, '')
    .toLowerCase()

const blockOf = (text: string): [Address, number] | undefined => {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text)
  if (isIP(text) === 0) return undefined
  const address = ipaddr.parse(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

/** The guard that keeps the rules. */
export const guardOf = (egress: Egress = 'network'): Guard => {
  const { to = 'network', allow = [] } = typeof egress === 'string' ? { to: egress } : egress
  const onlyPublic = to === 'public'
  const blocks = allow.flatMap((each) => {
    const block = blockOf(each)
    return block === undefined ? [] : [block]
  })
  const names = new Set(allow.map(plain))

  const judge = (text: string): string | undefined => {
    const address = ipaddr.parse(text)
    if (within(address, blocks)) return undefined
    for (const face of faces(address)) {
      const why = within(face, blocks) ? undefined : whyNot(face, onlyPublic)
      if (why !== undefined) return `${text} ${why}`
    }
    return undefined
  }

  return {
    host: (host) => {
      const name = plain(host)
      if (isIP(name) !== 0) return judge(name)
      if (names.has(name)) return undefined
      if (metadataNames.includes(name))
        return `${name} is where a cloud serves its credentials: it is never dialled`
      if (onlyPublic && /(^|\.)localhost$/.test(name))
        return `${name} is this machine, and only the public internet is dialled`
      return undefined
    },
    address: (address, host) => (names.has(plain(host)) ? undefined : judge(address)),
  }
}

const isName = (text: string): boolean =>
  /^[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i.test(text) && !/^[\d.]+$/.test(text)

/** What is wrong with egress rules; undefined stands for the default. */
export const egressFaults = (egress: unknown): ReadonlyArray<Fault> => {
  if (egress === undefined || egress === 'network' || egress === 'public') return []
  if (typeof egress !== 'object' || egress === null)
    return [{ path: '', message: "must be 'network', 'public', or { to, allow }" }]
  const faults: Fault[] = []
  if ('to' in egress && egress.to !== undefined && egress.to !== 'network' && egress.to !== 'public')
    faults.push({ path: 'to', message: "must be 'network' or 'public'" })
  const allow: unknown = 'allow' in egress ? egress.allow : undefined
  if (allow === undefined) return faults
  if (!Array.isArray(allow))
    return [...faults, { path: 'allow', message: 'must be a list of CIDR blocks and host names' }]
  allow.forEach((each: unknown, at) => {
    if (typeof each !== 'string' || (blockOf(each) === undefined && !isName(each)))
      faults.push({
        path: `allow[${String(at)}]`,
        message: 'must be a CIDR block, an address or a host name',
      })
  })
  return faults
}

/** Finds every address of a name. */
export type Lookup = (
  name: string,
  options: LookupAllOptions,
  done: (error: Error | null, found: ReadonlyArray<LookupAddress>) => void,
) => void

type Waiter = (error: Error | null, found: ReadonlyArray<LookupAddress>) => void

/** Several connections look up the same name at the same time, and a look-up that hangs holds one of four threads of the process. */
const shared = (lookup: Lookup): Lookup => {
  let waiters: Waiter[] = []
  return (name, options, done) => {
    waiters.push(done)
    if (waiters.length > 1) return
    lookup(name, options, (error, found) => {
      const all = waiters
      waiters = []
      for (const waiter of all) waiter(error, found)
    })
  }
}

/**
 * The look-up of one lane: every address found is judged, the forbidden ones are left out, and the connection is made to one
 * of those that were judged, so a name that answers differently a moment later changes nothing (webhooks/S6, S7).
 * Literal addresses never come here: who dials has to judge those (webhooks/S8).
 */
export const guardedLookup = (guard: Guard, lookup: Lookup = systemLookup): LookupFunction => {
  const ask = shared(lookup)
  return (name, options, done) => {
    ask(name, { ...options, all: true }, (error, found) => {
      if (error !== null) {
        done(error, [])
        return
      }
      const reasons = found.map(({ address }) => guard.address(address, name))
      const good = found.filter((_, at) => reasons[at] === undefined)
      const [first] = good
      if (first === undefined) done(blockedAddress(`${name} leads to ${reasons[0] ?? 'no address'}`), [])
      else if (options.all === true) done(null, good)
      else done(null, first.address, first.family)
    })
  }
}
