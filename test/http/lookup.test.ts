import { Resolver } from 'node:dns/promises'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, expect, it, vi } from 'vitest'
import { makeLookup } from '../../src/http/lookup.ts'
import { newFolder } from '../support/folder.ts'
import { throwing } from '../support/check.ts'

afterEach(() => void vi.restoreAllMocks())

const failed = (code: string): Error => Object.assign(new Error('no'), { code })

/** Name servers that answer for IPv4 and for IPv6, and a system that finds 10.0.0.1. */
const world = (four: (name: string) => Promise<string[]>, six = four, hasHosts = true, search = '') => {
  vi.spyOn(Resolver.prototype, 'resolve4').mockImplementation(four)
  vi.spyOn(Resolver.prototype, 'resolve6').mockImplementation(six)
  const asked: string[] = []
  const [hosts, resolv] = ['hosts', 'resolv.conf'].map((name) => join(newFolder(), name)) as [string, string]
  if (hasHosts) writeFileSync(hosts, '127.0.0.1 localhost\n10.0.0.1\tIn-Hosts.example other.example # note\n')
  writeFileSync(resolv, search)
  const system = async (name: string) => {
    asked.push(name)
    return name.startsWith('silent') ? new Promise<never>(() => {}) : [{ address: '10.0.0.1', family: 4 }]
  }
  const lookup = makeLookup(system, hosts, resolv)
  const find = (name: string): Promise<string> =>
    promisify(lookup)(name, { all: true }).then(
      (found) => found.map(({ address, family }) => `${address}/${String(family)}`).join(),
      (error: unknown) => (error as { code: string }).code,
    )
  return { asked, find }
}

const yes = () => Promise.resolve(['8.8.8.8'])
const no = (code: string) => () => Promise.reject(failed(code))
const broken = throwing(failed('EMFILE'))

it.each([
  ['of both families', yes, () => Promise.resolve(['2606:4700::1']), '8.8.8.8/4,2606:4700::1/6', false],
  ['of one family', no('ENODATA'), () => Promise.resolve(['2606:4700::1']), '2606:4700::1/6', false],
  ['of one family, the other silent', yes, no('ETIMEOUT'), '8.8.8.8/4', false],
  ['that name servers do not know', no('ENOTFOUND'), no('ENOTFOUND'), '10.0.0.1/4', true],
  ['without name servers', no('ECONNREFUSED'), no('ECONNREFUSED'), '10.0.0.1/4', true],
  ['of silent name servers', no('ETIMEOUT'), no('ETIMEOUT'), '10.0.0.1/4', true],
  ['that cannot be asked', broken, broken, 'EMFILE', false],
  ['of silent servers behind them', no('ESERVFAIL'), no('ENODATA'), '10.0.0.1/4', true],
])('a look-up %s', async (_, four, six, expected, isSystemAsked) => {
  const { asked, find } = world(four, six)
  for (const name of ['a.example', 'b.example']) expect(await find(name)).toBe(expected)
  expect(asked).toEqual(isSystemAsked ? ['a.example', 'b.example'] : [])
})

it.each(['hook', 'in-hosts.example', 'OTHER.example'])('asks the system alone for %s', async (name) =>
  expect(await world(yes).find(name)).toBe('10.0.0.1/4'),
)

const pod =
  '#\nsearch a\noptions ndots:1\noptions b ndots:5\nsearch timeout.local notfound.local  svc.local \n'
it.each([
  ['api.dev', pod.replace('timeout.local ', ''), '10.9.0.1/4 api.dev.notfound.local api.dev.svc.local'],
  ['api.dev', pod, '10.0.0.1/4 api.dev.timeout.local'],
  ['api.dev', pod.replace('timeout', 'refused'), '10.0.0.1/4 api.dev.refused.local'],
  ['api.dev', 'search svc.local\n', '8.8.8.8/4 api.dev'],
  ['api.dev.', pod, '8.8.8.8/4 api.dev.'],
])('looks for %s in the domains of the system: %j', async (name, search, expected) => {
  const asked: string[] = []
  const four = (each: string) => {
    asked.push(each)
    if (each === 'api.dev.svc.local') return Promise.resolve(['10.9.0.1'])
    return each.endsWith('.local') ? no(`E${String(each.split('.')[2]).toUpperCase()}`)() : yes()
  }
  expect([await world(four, no('ENODATA'), true, search).find(name), ...asked].join(' ')).toBe(expected)
})

it('five silent name servers delay no other name, and occupy one thread (H4)', async () => {
  const answering = (code: string) => (name: string) =>
    name === 'unknown.example' ? no('ENODATA')() : name.startsWith('silent') ? no(code)() : yes()
  const { asked, find } = world(answering('ETIMEOUT'), answering('ENODATA'))
  void find('silent0.example')
  // Each reads the file of hosts first, and these reads may end in another order.
  await vi.waitUntil(() => asked.length > 0, { interval: 1, timeout: 20_000 })
  const others = [1, 2, 3, 4].map((at) => find(`silent${String(at)}.example`))
  expect(await Promise.all(others)).toEqual(others.map(() => 'EAI_AGAIN'))
  expect(await find('a.example')).toBe('8.8.8.8/4,8.8.8.8/6')
  for (const name of ['localhost', 'unknown.example']) expect(await find(name)).toBe('10.0.0.1/4')
  expect(asked).toEqual(['silent0.example', 'localhost', 'unknown.example'])
})

it('connections that are made at once share one', async () => {
  const { asked, find } = world(no('ENOTFOUND'), undefined, false)
  expect(await Promise.all([find('a.example'), find('a.example')])).toEqual(['10.0.0.1/4', '10.0.0.1/4'])
  for (const name of ['a.example', 'b.example']) await find(name)
  expect(asked).toEqual(['a.example', 'a.example', 'b.example'])
})
