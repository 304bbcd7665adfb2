/**
 * Which addresses may be dialled. A URL that a customer chose can point into the host's own network, or at
 * the address where a cloud serves its credentials. Every address is checked here, in every spelling.
 */
import ipaddr from 'ipaddr.js'
import type { LookupFunction } from 'node:net'
import { isLeft, isRight, left, right, type Either } from '../core/either.ts'
import { isRecord } from '../core/json.ts'
import { decodeOptions, list, oneOf, option, optional, strict, type Option } from '../core/options.ts'
import type { Fault } from '../core/refusal.ts'
import { lookup as processLookup, type Lookup } from './lookup.ts'
import { blockedAddress } from './networkError.ts'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Block = [Address, number]

const isWithin = (address: Address, blocks: ReadonlyArray<Block>): boolean =>
  blocks.some(([block, bits]) => block.kind() === address.kind() && address.match([block, bits]))

type Blocks = () => ReadonlyArray<Block>
/** Parsed when they are needed: it takes 5 ms. */
const blocksOf = (texts: string): Blocks => {
  let blocks: ReadonlyArray<Block> | undefined
  return () => (blocks ??= texts.split(/\s+/).map((text) => ipaddr.parseCIDR(text)))
}

const LAST_FOUR = [12, 13, 14, 15]
const NAT64_PLACES = [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], LAST_FOUR]

/** Transitions from IPv6 to IPv4, the bytes where the IPv4 address stands, and a mask for each. */
const EMBEDDINGS: ReadonlyArray<readonly [Blocks, ReadonlyArray<number>, number?]> = [
  // Mapped, compatible, translated, NAT64.
  [blocksOf('::ffff:0:0/96 ::/96 ::ffff:0:0:0/96 64:ff9b::/96'), LAST_FOUR],
  // NAT64 with a local prefix (RFC 8215) of unknown length: the address has four places (RFC 6052).
  ...NAT64_PLACES.map((places) => [blocksOf('64:ff9b:1::/48'), places] as const),
  [blocksOf('2002::/16'), [2, 3, 4, 5]],
  // A Teredo address holds its server, and its client at the end with every bit inverted.
  [blocksOf('2001::/32'), [4, 5, 6, 7]],
  [blocksOf('2001::/32'), LAST_FOUR, 0xff],
]

/** The IPv4 addresses that an IPv6 address leads to. Rules for IPv4 alone would miss most of them. */
const embeddedIPv4 = (address: ipaddr.IPv6): ReadonlyArray<ipaddr.IPv4> => {
  const bytes = address.toByteArray()
  const at = (places: ReadonlyArray<number>, mask = 0): ipaddr.IPv4 =>
    new ipaddr.IPv4(places.map((place) => (bytes[place] ?? 0) ^ mask))
  const isIsatap =
    [0, 2].includes(bytes[8] ?? 1) && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe
  const found = EMBEDDINGS.filter(([blocks]) => isWithin(address, blocks()))
  return [...found.map(([, places, mask]) => at(places, mask)), ...(isIsatap ? [at(LAST_FOUR)] : [])]
}

/** Which addresses may be dialled. */
export interface EgressRules {
  /** `network` (default): every address but link-local and cloud metadata. `public`: public ones only. */
  readonly to?: 'network' | 'public'
  /** Exceptions: CIDR blocks (`10.1.0.0/16`), addresses, and host names, which may resolve to any address. */
  readonly allow?: ReadonlyArray<string>
}

/** Which addresses may be dialled; `'public'` is short for `{ to: 'public' }`. */
export type Egress = 'network' | 'public' | EgressRules

export type Guard = ReturnType<typeof guardOf>

/** Where clouds serve metadata, beside link-local. In IPv6: AWS, Google, Scaleway, Oracle, Akamai. */
const METADATA = blocksOf(`100.100.100.200/32 168.63.129.16/32 192.0.0.192/32
fd00:ec2::/32 fd20:ce::/32 fd00:42::42/128 fd00:c1::/32 fd00:a9fe:a9fe::/48`)

const METADATA_NAMES = `metadata.google.internal metadata.goog instance-data.ec2.internal
metadata.tencentyun.com metadata.platformequinix.com`.split(/\s/)

const GLOBAL_IPV6 = blocksOf('2000::/3')

const isPublic = (address: Address): boolean => {
  const range = address.range()
  // These only carry an IPv4 address, which is checked by itself.
  if (range === 'ipv4Mapped' || range === 'rfc6052') return true
  return range === 'unicast' && (address.kind() === 'ipv4' || isWithin(address, GLOBAL_IPV6()))
}

const reasonAgainst = (address: Address, onlyPublic: boolean): string | undefined => {
  if (address.range() === 'linkLocal')
    return 'is a link-local address, where clouds serve their credentials: it is not dialled'
  if (isWithin(address, METADATA())) return 'is a cloud metadata address: it is not dialled'
  if (onlyPublic && !isPublic(address)) return 'is not on the public internet: only that is dialled'
  return undefined
}

/** Without brackets and final dots, in lower case. */
const plainHost = (host: string): string => {
  let end = host.length
  while (host[end - 1] === '.') end--
  const name = host.slice(0, end).toLowerCase()
  return name.replace(/^\[|\]$/g, '')
}

/** As `net.isIP`, which takes milliseconds to load. */
export const isIP = (text: string): number => process.getBuiltinModule('node:net').isIP(text)

const blockOf = (text: string): Block | undefined => {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text)
  if (isIP(text) === 0) return undefined
  const address = ipaddr.parse(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

/** Both answer why an address may not be dialled; undefined if it may. */
export const guardOf = (egress: Egress = 'network') => {
  const { to = 'network', allow = [] } = typeof egress === 'string' ? { to: egress } : egress
  const onlyPublic = to === 'public'
  const allowed = allow.map(blockOf).filter((block) => block !== undefined)
  const allowedNames = new Set(allow.map(plainHost))

  const check = (text: string): string | undefined => {
    const address = ipaddr.parse(text)
    if (isWithin(address, allowed)) return undefined
    const all = address instanceof ipaddr.IPv4 ? [address] : [address, ...embeddedIPv4(address)]
    const others = all.filter((each) => !isWithin(each, allowed))
    const reason = others.map((each) => reasonAgainst(each, onlyPublic)).find((why) => why !== undefined)
    return reason && `${text} ${reason}`
  }

  return {
    /** A host as it stands in a URL: a literal address is checked, a name only if it is known to be bad. */
    host: (host: string): string | undefined => {
      const name = plainHost(host)
      if (isIP(name) !== 0) return check(name)
      if (allowedNames.has(name)) return undefined
      if (METADATA_NAMES.includes(name)) return `${name} serves credentials of a cloud: it is not dialled`
      if (onlyPublic && /(^|\.)localhost$/.test(name))
        return `${name} is this machine, and only the public internet is dialled`
      return undefined
    },
    /** An address that a look-up of `host` found. */
    address: (ip: string, host: string) => (allowedNames.has(plainHost(host)) ? undefined : check(ip)),
  }
}

const HOST_NAME = /^(?![\d.]+$)[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i

const exception: Option<string> = option('an exception', (value) =>
  typeof value === 'string' && (blockOf(value) !== undefined || HOST_NAME.test(value))
    ? right(value)
    : left('must be a CIDR block, an address or a host name'),
)

const egressRules: Option<EgressRules> = strict({
  to: optional(oneOf('network', 'public')),
  allow: optional(list('CIDR blocks, addresses and host names', 0, Infinity, exception)),
})

export const egressOption: Option<Egress> = option('egress rules', (it) => {
  if (it === 'network' || it === 'public') return right(it)
  return isRecord(it) ? decodeOptions(egressRules, it) : left("must be 'network', 'public', or { to, allow }")
})

/** Decoded settings with the faults of the host's egress rules: for wrong ones the default would count. */
export const withEgressFaults = <A>(egress: unknown, decoded: Either<ReadonlyArray<Fault>, A>) => {
  const rules = decodeOptions(strict({ egress: optional(egressOption) }), { egress })
  if (isRight(rules)) return decoded
  return left(isLeft(decoded) ? [...rules.left, ...decoded.left] : rules.left)
}

/**
 * The look-up for connections to one URL: the forbidden addresses are left out, and the connection is made to
 * a checked one, so a name that resolves to another address a moment later changes nothing. Literal addresses
 * are not looked up: check them before.
 */
export const guardedLookup =
  (guard: Guard, lookup: Lookup = processLookup): LookupFunction =>
  (name, options, done) =>
    lookup(name, { ...options, all: true }, (error, found) => {
      if (error !== null) return done(error, [])
      const reasons = found.map(({ address }) => guard.address(address, name))
      const good = found.filter((_, at) => reasons[at] === undefined)
      const [first] = good
      const [why = 'it has none'] = reasons
      if (first === undefined) done(blockedAddress(`${name} leads to no address that is allowed: ${why}`), [])
      else if (options.all === true) done(null, good)
      else done(null, first.address, first.family)
    })
