/**
 * Which addresses may be dialled (DE13). A URL that somebody else chose can point into the own network: at a neighbour's port,
 * or at the address where a cloud hands out its credentials. Every road to an address is judged here, in every spelling.
 *
 * @module
 */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Fault } from '../outcome/Refusal.ts'
import { embeddedIPv4 } from './embeddedIPv4.ts'

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
