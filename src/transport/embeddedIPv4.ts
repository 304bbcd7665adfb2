import ipaddr from 'ipaddr.js'

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
