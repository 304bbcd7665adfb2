import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { egressFaults, guardOf } from '../../src/http/egress.ts'

const guard = guardOf()
const onlyPublic = guardOf('public')

describe('addresses that a look-up found (DE13)', () => {
  it.each([
    '169.254.169.254',
    '::ffff:169.254.169.254',
    'fe80::1%eth0',
    'fe80::1',
    'fd00:ec2::254',
    '64:ff9b::a9fe:a9fe',
  ])('refuses %s always', (address) => {
    expect(guard.address(address, 'a.example')).toContain(address)
    expect(onlyPublic.address(address, 'a.example')).toContain(address)
  })

  it.each(['127.0.0.1', '::1', '10.1.2.3', 'fd12::1', '0.0.0.0', '::', '100.64.0.1', '::ffff:10.0.0.1'])(
    'refuses %s only where nothing but the public internet may be dialled',
    (address) => {
      expect(guard.address(address, 'a.example')).toBeUndefined()
      expect(onlyPublic.address(address, 'a.example')).toBeDefined()
    },
  )

  it.each(['8.8.8.8', '2606:4700::1', '::ffff:8.8.8.8', '64:ff9b::808:808'])('takes %s', (address) => {
    expect(onlyPublic.address(address, 'a.example')).toBeUndefined()
  })
})

const hex = (octets: ReadonlyArray<number>): string =>
  [0, 2].map((at) => (((octets[at] ?? 0) << 8) | (octets[at + 1] ?? 0)).toString(16)).join(':')

const forms: Readonly<Record<string, (octets: ReadonlyArray<number>) => string>> = {
  plain: (octets) => octets.join('.'),
  mapped: (octets) => `::ffff:${hex(octets)}`,
  compatible: (octets) => `::${hex(octets)}`,
  translated: (octets) => `::ffff:0:${hex(octets)}`,
  nat64: (octets) => `64:ff9b::${hex(octets)}`,
  localNat64: (octets) => `64:ff9b:1::${hex(octets)}`,
  sixToFour: (octets) => `2002:${hex(octets)}::1`,
  teredo: (octets) => `2001:0:808:808:0:0:${hex(octets.map((octet) => octet ^ 0xff))}`,
  isatap: (octets) => `2600:1:2:3:200:5efe:${hex(octets)}`,
}

const octet = fc.integer({ min: 0, max: 255 })
const linkLocal = fc.tuple(octet, octet).map(([a, b]) => [169, 254, a, b])
const open = fc.tuple(fc.constantFrom(8, 23, 93, 151), octet, octet, octet)
const form = fc.constantFrom(...Object.keys(forms))

describe('every way to write an address (webhooks/S2 to S4)', () => {
  it('a link-local one is refused in all of them', () => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(linkLocal, form, (octets, name) => {
        seen.add(name)
        const address = forms[name]?.(octets) ?? ''
        expect(guard.address(address, 'a.example')).toBeDefined()
        expect(guard.host(name === 'plain' ? address : `[${address}]`)).toBeDefined()
      }),
      { numRuns: 1000 },
    )
    expect(seen.size).toBe(Object.keys(forms).length)
  })

  it('a public one is refused in none of them', () => {
    fc.assert(
      fc.property(open, form, (octets, name) => {
        expect(guard.address(forms[name]?.(octets) ?? '', 'a.example')).toBeUndefined()
      }),
      { numRuns: 1000 },
    )
  })
})

describe('the allow list (DE13)', () => {
  const holes = guardOf({
    to: 'public',
    allow: ['10.1.0.0/16', '169.254.7.7', 'fd00::/8', 'Metadata.Internal.', 'localhost'],
  })

  it('opens holes by block, by address and by host name, and no others', () => {
    expect(holes.host('10.1.255.1')).toBeUndefined()
    expect(holes.host('[::ffff:10.1.0.1]')).toBeUndefined()
    expect(holes.host('10.2.0.1')).toBeDefined()
    expect(holes.host('169.254.7.7')).toBeUndefined()
    expect(holes.host('169.254.7.8')).toBeDefined()
    expect(holes.host('[fd00:1::1]')).toBeUndefined()
    expect(holes.host('LOCALHOST.')).toBeUndefined()
    expect(holes.host('foo.localhost')).toBeDefined()
  })

  it('lets an allowed name resolve to anything, and an allowed block come from any name', () => {
    expect(holes.address('169.254.169.254', 'metadata.internal')).toBeUndefined()
    expect(holes.address('169.254.169.254', 'x.metadata.internal')).toBeDefined()
    expect(holes.address('10.1.2.3', 'a.example')).toBeUndefined()
  })

  it('says what is wrong with the rules', () => {
    const paths = (egress: unknown): ReadonlyArray<string> => egressFaults(egress).map(({ path }) => path)
    expect(
      [
        undefined,
        'public',
        'network',
        {},
        { to: 'public', allow: ['a.example', '10.0.0.0/8', '::1'] },
      ].flatMap(paths),
    ).toEqual([])
    expect(paths('private')).toEqual([''])
    expect(paths(null)).toEqual([''])
    expect(paths({ to: 'all', allow: 'a.example' })).toEqual(['to', 'allow'])
    expect(
      paths({ allow: ['10.0.0.0/33', '999.1.1.1', 'a b', '', 7, 'https://a.example', '*.example'] }),
    ).toHaveLength(7)
  })
})
