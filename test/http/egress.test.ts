import fc from 'fast-check'
import type { LookupAddress } from 'node:dns'
import { describe, expect, it } from 'vitest'
import { decodeOptions } from '../../src/core/options.ts'
import { egressOption, guardedLookup, guardOf } from '../../src/http/egress.ts'
import type { Lookup } from '../../src/http/lookup.ts'
import { pathsIn } from '../support/faults.ts'
import { forAll } from '../support/check.ts'

const guard = guardOf()
const onlyPublic = guardOf('public')

describe('addresses that a look-up found (DE13)', () => {
  it.each([
    ...['169.254.169.254', '::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe'],
    ...['fe80::1%eth0', 'fe80::1', 'febf::1', 'fd00:ec2::254', '2600::5efe:a9fe:a9fe'],
    // H14: of Google, Scaleway, Oracle, Akamai; Alibaba, Azure, Oracle.
    ...['fd20:ce::254', 'fd00:42::42', 'fd00:c1::a9fe:a9fe', 'fd00:a9fe:a9fe::1'],
    ...['100.100.100.200', '168.63.129.16', '192.0.0.192', '::ffff:100.100.100.200', '64:ff9b::6464:64c8'],
  ])('refuses %s always', (address) => {
    expect(guard.address(address, 'a.example')).toContain(address)
    expect(onlyPublic.address(address, 'a.example')).toContain(address)
  })

  const local = ['127.0.0.1', '::1', '10.1.2.3', 'fd12::1', '0.0.0.0', '::', '100.64.0.1', '::ffff:10.0.0.1']
  const more = ['172.16.0.1', '192.168.0.1', '64:ff9b::10.0.0.1', '64:ff9b:1::8.8.8.8', '2002:a00:1::']
  it.each([...local, ...more])("refuses %s only with egress 'public'", (address) => {
    expect(guard.address(address, 'a.example')).toBeUndefined()
    expect(onlyPublic.address(address, 'a.example')).toBeDefined()
  })

  it.each([
    ...['1::1', '200::1', '400::1', '1000::1', '4000::1', '8000::1', 'e000::1', 'fe00::1', '5f00::1'],
    ...['100::1', '192.0.2.1', '224.0.0.1', '255.255.255.255', 'fc00::1', 'fec0::1', 'ff02::1'],
    ...['2001:db8::1', '3fff::1', '2001:2::1', '2001:20::1', '240.0.0.1', '198.18.0.1', '192.88.99.1'],
  ])("refuses %s, which is not global unicast, with egress 'public' (H14)", (address) =>
    expect(onlyPublic.address(address, 'a.example')).toBeDefined(),
  )

  it.each([
    ...['8.8.8.8', '2606:4700::1', '3ffe::1', '::ffff:8.8.8.8', '64:ff9b::808:808'],
    // They end as 10.1.2.3 does, and differ from an ISATAP address by one byte.
    ...['2600::100:5efe:a01:203', '2600::1:5efe:a01:203', '2600::fe:a01:203', '2600::5e00:a01:203'],
  ])('takes %s', (at) => expect(onlyPublic.address(at, 'a.example')).toBeUndefined())
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
  teredoServer: (octets) => `2001:0:${hex(octets)}::f7f7:f7f7`,
  teredo: (octets) => `2001:0:808:808:0:0:${hex(octets.map((octet) => octet ^ 0xff))}`,
  isatap: (octets) => `2600:1:2:3:200:5efe:${hex(octets)}`,
}

const octet = fc.integer({ min: 0, max: 255 })
const linkLocal = fc.tuple(octet, octet).map(([a, b]) => [169, 254, a, b])
const forbidden = fc.oneof(linkLocal, fc.constant([168, 63, 129, 16]))
const open = fc.tuple(fc.constantFrom(8, 23, 93, 151), octet, octet, octet)
const form = fc.constantFrom(...Object.keys(forms))

describe('every spelling of an address (webhooks/S2 to S4)', () => {
  it('is refused if it is link-local or of metadata', () =>
    forAll(forbidden, form, (octets, name) => {
      const address = forms[name]?.(octets) ?? ''
      expect(guard.address(address, 'a.example')).toBeDefined()
      expect(guard.host(name === 'plain' ? address : `[${address}]`)).toBeDefined()
    }))

  it('is allowed if it is public', () =>
    forAll(open, form, (octets, name) => {
      expect(guard.address(forms[name]?.(octets) ?? '', 'a.example')).toBeUndefined()
    }))
})

describe('the allow list (DE13)', () => {
  const blocks = ['10.1.0.0/16', '169.254.7.7', 'fd00::/8', 'fc00::7', '2002::/16']
  const guarded = guardOf({ to: 'public', allow: [...blocks, 'Metadata.Internal.', 'localhost'] })

  const literals = ['10.1.255.1', '[::ffff:10.1.0.1]', '169.254.7.7', '[fd00:1::1]', '[fc00::7]']
  it.each([...literals, '[2002:a9fe:a9fe::1]', 'LOCALHOST.', 'localhost.example'])('allows %s', (host) =>
    expect(guarded.host(host)).toBeUndefined(),
  )

  const refused = ['10.2.0.1', '169.254.7.8', '[fc00::8]', 'foo.localhost']
  it.each(refused)('does not allow %s', (host) => expect(guarded.host(host)).toBeDefined())

  it('lets an allowed name resolve to any address, and any name to an allowed block', () => {
    expect(guarded.address('169.254.169.254', 'metadata.internal')).toBeUndefined()
    expect(guarded.address('169.254.169.254', 'x.metadata.internal')).toBeDefined()
    expect(guarded.address('10.1.2.3', 'a.example')).toBeUndefined()
  })

  it('has its faults named', () => {
    const paths = (egress: unknown) => pathsIn(decodeOptions(egressOption, egress))
    const allow = ['3a.b.example', 'hook', '10.0.0.0/8', '::1']
    const right = ['public', 'network', {}, { to: 'public', allow }]
    expect([right.flatMap(paths), ['private', null].flatMap(paths)]).toEqual([[], ['', '']])
    for (const key of ['mode', 'To', 'deny', 'alow']) expect(paths({ [key]: 'public' })).toEqual([key])
    expect(paths({ to: 'all', allow: 'a.example', too: 1 })).toEqual(['to', 'allow', 'too'])
    const wrong = ['10.0.0.0/33', '999.1.1.1', 'a b', '', null, 'https://a.example', '*.example']
    expect(paths({ allow: wrong })).toHaveLength(7)
  })
})

const found = (...addresses: ReadonlyArray<string>): ReadonlyArray<LookupAddress> =>
  addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))

const answering =
  (...addresses: ReadonlyArray<string>): Lookup =>
  (_name, _options, done) =>
    done(null, found(...addresses))

const failed = (code: string): Error => Object.assign(new Error('no'), { code })

const ask = (lookup: Lookup, all: boolean, egress: 'network' | 'public' = 'public') =>
  new Promise<ReadonlyArray<unknown>>((resolve) =>
    guardedLookup(guardOf(egress), lookup)('a.example', { all }, (...answer) => resolve(answer)),
  )

// RFC 6052: the prefix may have 48, 56, 64 or 96 bits.
const metadata = ['64:ff9b:1:a83f:81:1000::', '64:ff9b:1:a8:3f:8110::', '64:ff9b:1:0:a8:3f81:1000:0']
it.each([...metadata, '64:ff9b:1::a83f:8110'])('%s of a local NAT64 leads to 168.63.129.16', (address) =>
  expect(guard.address(address, 'a.example')).toBeDefined(),
)

describe('a guarded look-up', () => {
  it('leaves out forbidden addresses (webhooks/S6)', async () => {
    const mixed = answering('10.0.0.1', '8.8.8.8', '::1', '2606:4700::1')
    expect(await ask(mixed, true)).toEqual([null, found('8.8.8.8', '2606:4700::1')])
    expect(await ask(mixed, false)).toEqual([null, '8.8.8.8', 4])
  })

  it('fails when no address is left, and says why', async () => {
    const [error] = await ask(answering('169.254.169.254', 'fe80::1'), true, 'network')
    expect(error).toMatchObject({ code: 'HEADRACE_BLOCKED_ADDRESS' })
    expect(String(error)).toContain('a.example leads to no address that is allowed: 169.254.169.254 is a')
  })

  it('fails with the error of the look-up', async () => {
    const unknown: Lookup = (_name, _options, done) => done(failed('ENOTFOUND'), [])
    expect((await ask(unknown, true))[0]).toMatchObject({ code: 'ENOTFOUND' })
    expect((await ask(answering(), true))[0]).toMatchObject({ code: 'HEADRACE_BLOCKED_ADDRESS' })
  })
})
