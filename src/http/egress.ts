/**
 * Which addresses may be dialled. A URL that a customer chose can point into the host's own network, or at the address where a cloud
 * serves its credentials. Every address is checked here, in every spelling.
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
type Address = ipaddr.IPv4 | ipaddr.IPv6
type Block = [Address, number]

const startsWith = (bytes: Bytes, prefix: Bytes): boolean => prefix.every((byte, at) => bytes[at] === byte)
const zeros = (count: number): Bytes => new Array<number>(count).fill(0)

/** Prefixes whose last four bytes are an IPv4 address: mapped, compatible, translated, NAT64. */
const WITH_IPV4_AT_END: ReadonlyArray<Bytes> = [
  [...zeros(10), 0xff, 0xff],
  zeros(12),
  [...zeros(8), 0xff, 0xff, 0, 0],
  [0x00, 0x64, 0xff, 0x9b, ...zeros(8)],
]

/** NAT64 with a prefix of the local network (RFC 8215) of unknown length: the address may be at four places (RFC 6052). */
const LOCAL_NAT64: Bytes = [0x00, 0x64, 0xff, 0x9b, 0x00, 0x01]
const LOCAL_NAT64_PLACES: ReadonlyArray<Bytes> = [
  [6, 7, 9, 10],
  [7, 9, 10, 11],
  [9, 10, 11, 12],
  [12, 13, 14, 15],
]
const SIX_TO_FOUR: Bytes = [0x20, 0x02]
const TEREDO: Bytes = [0x20, 0x01, 0x00, 0x00]
/** Marks an ISATAP address from its tenth byte on; the ninth is 0 or 2. */
const ISATAP: Bytes = [0x00, 0x5e, 0xfe]

/**
 * The IPv4 addresses that an IPv6 address (its 16 bytes) leads to by one of the transitions from IPv6 to IPv4. Rules for IPv4 alone
 * would miss most of them.
 */
export const embeddedIPv4 = (bytes: Bytes): ReadonlyArray<ipaddr.IPv4> => {
  const from = (some: Bytes): ipaddr.IPv4 => new ipaddr.IPv4(some.map((byte) => byte & 0xff))
  const at = (start: number): ipaddr.IPv4 => from(bytes.slice(start, start + 4))
  const found: ipaddr.IPv4[] = []
  if (WITH_IPV4_AT_END.some((prefix) => startsWith(bytes, prefix))) found.push(at(12))
  if (startsWith(bytes, SIX_TO_FOUR)) found.push(at(2))
  // A Teredo address holds its server, and its client with every bit inverted.
  if (startsWith(bytes, TEREDO)) found.push(at(4), from(bytes.slice(12, 16).map((byte) => ~byte)))
  if (startsWith(bytes, LOCAL_NAT64))
    found.push(...LOCAL_NAT64_PLACES.map((place) => from(place.map((index) => bytes[index] ?? 0))))
  if ((bytes[8] === 0 || bytes[8] === 2) && startsWith(bytes.slice(9), ISATAP)) found.push(at(12))
  return found
}

/** Which addresses may be dialled. */
export interface EgressRules {
  /** `network`, the default: all but link-local and cloud metadata addresses. `public`: only addresses of the public internet. */
  readonly to?: 'network' | 'public'
  /** Exceptions: CIDR blocks (`10.1.0.0/16`), addresses, and host names, which then may resolve to any address. */
  readonly allow?: ReadonlyArray<string>
}

/** Which addresses may be dialled; `'public'` is short for `{ to: 'public' }`. */
export type Egress = 'network' | 'public' | EgressRules

/** Both answer why an address may not be dialled; undefined if it may. */
export interface Guard {
  /** A host as it stands in a URL: a literal address is checked, a name only if it is known to be bad. */
  readonly host: (host: string) => string | undefined
  /** An address that a look-up of `host` found. */
  readonly address: (address: string, host: string) => string | undefined
}

/** Where clouds serve metadata, beside the link-local range. */
const METADATA: ReadonlyArray<Block> = [
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
  'fd00:ec2::/32',
  'fd20:ce::/32',
  'fd00:42::42/128',
].map((block) => ipaddr.parseCIDR(block))

const METADATA_NAMES: ReadonlyArray<string> = [
  'metadata.google.internal',
  'metadata.goog',
  'instance-data.ec2.internal',
]

/** Public addresses, and ranges that only carry an IPv4 address, which is checked by itself. */
const PUBLIC_RANGES: ReadonlyArray<string> = ['unicast', 'ipv4Mapped', 'rfc6052']

const isWithin = (address: Address, blocks: ReadonlyArray<Block>): boolean =>
  blocks.some(([block, bits]) => block.kind() === address.kind() && address.match([block, bits]))

const reasonAgainst = (address: Address, onlyPublic: boolean): string | undefined => {
  const range = address.range()
  if (range === 'linkLocal')
    return 'is a link-local address, where clouds serve their credentials: it is never dialled'
  if (isWithin(address, METADATA)) return 'is a cloud metadata address: it is never dialled'
  if (onlyPublic && !PUBLIC_RANGES.includes(range))
    return 'is not an address of the public internet, and only those are dialled'
  return undefined
}

/** Without brackets and final dots, in lower case. */
const plain = (host: string): string =>
  host
    .replace(/^\[|\]$/g, '')
    .replace(/\.+$/, '')
    .toLowerCase()

const blockOf = (text: string): Block | undefined => {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text)
  if (isIP(text) === 0) return undefined
  const address = ipaddr.parse(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

/** Checks hosts and addresses by these rules. */
export const guardOf = (egress: Egress = 'network'): Guard => {
  const { to = 'network', allow = [] } = typeof egress === 'string' ? { to: egress } : egress
  const onlyPublic = to === 'public'
  const allowed = allow.flatMap((each) => {
    const block = blockOf(each)
    return block === undefined ? [] : [block]
  })
  const allowedNames = new Set(allow.map(plain))

  const check = (text: string): string | undefined => {
    const address = ipaddr.parse(text)
    if (isWithin(address, allowed)) return undefined
    const all = address.kind() === 'ipv4' ? [address] : [address, ...embeddedIPv4(address.toByteArray())]
    for (const each of all) {
      const reason = isWithin(each, allowed) ? undefined : reasonAgainst(each, onlyPublic)
      if (reason !== undefined) return `${text} ${reason}`
    }
    return undefined
  }

  return {
    host: (host) => {
      const name = plain(host)
      if (isIP(name) !== 0) return check(name)
      if (allowedNames.has(name)) return undefined
      if (METADATA_NAMES.includes(name))
        return `${name} is where a cloud serves its credentials: it is never dialled`
      if (onlyPublic && /(^|\.)localhost$/.test(name))
        return `${name} is this machine, and only the public internet is dialled`
      return undefined
    },
    address: (address, host) => (allowedNames.has(plain(host)) ? undefined : check(address)),
  }
}

const isName = (text: string): boolean =>
  /^[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i.test(text) && !/^[\d.]+$/.test(text)

/** What is wrong with egress rules; undefined means the default. */
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

type Found = (error: Error | null, found: ReadonlyArray<LookupAddress>) => void

/** Finds every address of a name. */
export type Lookup = (name: string, options: LookupAllOptions, done: Found) => void

/**
 * The look-up for connections to one URL: the forbidden addresses are left out, and the connection is made to one that was checked, so
 * a name that resolves to another address a moment later changes nothing. Literal addresses are not looked up: check them before.
 */
export const guardedLookup = (guard: Guard, lookup: Lookup = systemLookup): LookupFunction => {
  /** Connections that are made at once share one look-up: each one occupies one of four threads of the process. */
  let callers: Found[] = []
  return (name, options, done) => {
    callers.push((error, found) => {
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
    if (callers.length > 1) return
    lookup(name, { ...options, all: true }, (error, found) => {
      const all = callers
      callers = []
      for (const caller of all) caller(error, found)
    })
  }
}
