import * as fc from 'fast-check'
import * as t from 'io-ts'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { ConfigError, decodeSettings, Settings, webhookDestination } from '../../src/destination/index.ts'
import { decodeCollectorSettings } from '../../src/collector/settings.ts'
import type { Egress } from '../../src/http/egress.ts'
import { faultsOf } from '../../src/event/codecFaults.ts'
import { testCertificates } from '../../src/testing/certificate.ts'
import { faultPaths, pathsIn, thrown } from '../support/faults.ts'

const url = 'https://a.example/hook'
const { client: own, selfSigned } = testCertificates()
const standardSecret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`
const pathsOf = (input: unknown): ReadonlyArray<string> => pathsIn(decodeSettings(input))

describe('decodeSettings', () => {
  it.each<[unknown, ReadonlyArray<string>]>([
    [{ To: 'public' }, ['egress.To']],
    [{ mode: 'public' }, ['egress.mode']],
    [{ deny: ['10.0.0.0/8'] }, ['egress.deny']],
    [{ allow: ['nonsense/33'] }, ['egress.allow[0]']],
    ['Public', ['egress']],
    [null, ['egress']],
    [{ To: 'public', to: 'public' }, ['egress.To']],
    [undefined, []],
    ['network', []],
    ['public', ['webhooks[0].url']],
  ])('seed 3: checks the egress rules %j', (egress, paths) => {
    const local = { webhooks: [{ url: 'http://127.0.0.1/' }] }
    expect(pathsIn(decodeSettings(local, egress as Egress))).toEqual(paths)
    const collector = { sources: [], destinations: [{ name: 'a', sources: [], ...local }] }
    const found = pathsIn(decodeCollectorSettings(collector, egress as Egress))
    for (const path of paths.filter((each) => each.startsWith('egress'))) expect(found).toContain(path)
  })

  const reserved = { 'content-type': 'x' }
  const standard = { url, headers: { 'Webhook-Id': 'a', 'webhook-signature': 'b', A: 'c' } }
  const standardPaths = ['webhooks[0].headers.Webhook-Id', 'webhooks[0].headers.webhook-signature']
  it.each<[string, unknown, ReadonlyArray<string>]>([
    ['no object', 7, ['']],
    ['an array', [], ['']],
    ['nothing', {}, ['webhooks']],
    ['no URL', { webhooks: [] }, ['webhooks']],
    ['six URLs', { webhooks: [1, 2, 3, 4, 5, 6].map((n) => ({ url: `${url}${String(n)}` })) }, ['webhooks']],
    ['a URL that is no entry', { webhooks: [url] }, ['webhooks[0]']],
    ['an entry without a URL', { webhooks: [{}] }, ['webhooks[0].url']],
    ['a misspelt scheme', { webhooks: [{ url: 'htps://a.example' }] }, ['webhooks[0].url']],
    ['one URL twice', { webhooks: [{ url: 'https://A.example:443/hook' }, { url }] }, ['webhooks[1].url']],
    ['the same URL but for its fragment', { webhooks: [{ url }, { url: `${url}#2` }] }, ['webhooks[1].url']],
    ['the same URL but for an empty query', { webhooks: [{ url }, { url: `${url}?` }] }, ['webhooks[1].url']],
    ['an empty secret', { sharedSecret: '', webhooks: [{ url }] }, ['sharedSecret']],
    ['a padded secret', { sharedSecret: 's\n', webhooks: [{ url }] }, ['sharedSecret']],
    ['no standard secret', { standardSecret: 'hunter2', webhooks: [{ url }] }, ['standardSecret']],
    [
      'standard secrets of which one is none',
      { standardSecret: [], webhooks: [{ url, standardSecret: [standardSecret, 'hunter2'] }] },
      ['standardSecret', 'webhooks[0].standardSecret[1]'],
    ],
    ['a URL twice and a wrong one', { webhooks: [{ url }, { url }, 7] }, ['webhooks[2]', 'webhooks[1].url']],
    ['headers of the shared standard secret', { standardSecret, webhooks: [standard] }, standardPaths],
    ['only holes', { webhooks: new Array(2) }, ['webhooks[0]', 'webhooks[1]']],
    ['a shared secret that is undefined', { sharedSecret: undefined, webhooks: [{ url }] }, ['sharedSecret']],
    ['a secret that is undefined', { webhooks: [{ url, secret: undefined }] }, ['webhooks[0].secret']],
    ['tls that is undefined', { webhooks: [{ url, tls: undefined }] }, ['webhooks[0].tls']],
    ['enabled in words', { enabled: 'yes', webhooks: [{ url }] }, ['enabled']],
    ['a reserved header', { webhooks: [{ url, headers: reserved }] }, ['webhooks[0].headers.content-type']],
    ['nothing without that secret', { webhooks: [standard] }, []],
  ])('refuses %s', (_, input, paths) => expect(pathsOf(input)).toEqual(paths))

  it('is total, and never says a value', () => {
    const marked = fc.constant('s3cr3t-v4lue ')
    const anything = fc.anything({ values: [fc.boolean(), fc.nat(), marked, fc.constant(undefined)] })
    const webhooks = fc.oneof(anything, fc.array(anything))
    const settings = fc.record({ sharedSecret: anything, enabled: anything, webhooks }, { requiredKeys: [] })
    fc.assert(
      fc.property(fc.oneof(anything, settings), (input) => {
        const decoded = decodeSettings(input)
        if (decoded._tag === 'Left') {
          expect(decoded.left.length).toBeGreaterThan(0)
          for (const { message } of decoded.left) expect(message).not.toContain('s3cr3t')
        }
      }),
      { numRuns: 1_000 },
    )
  })

  it('shows no header value, key or URL query, and works with them (H12, DE11)', () => {
    const headers = { 'X-Api-Key': 'hunter2' }
    const keys = { secret: 'hunter2', standardSecret: [standardSecret], tls: { ca: selfSigned.cert, ...own } }
    const given = { url: `${url}?token=hunter2`, headers, ...keys }
    const decoded = decodeSettings({ sharedSecret: 'hunter2', standardSecret, webhooks: [given] })
    if (decoded._tag === 'Left') throw new Error('wrong settings')
    const shown = inspect(decoded, { depth: 9, showHidden: true }) + JSON.stringify(decoded)
    expect(shown).not.toMatch(/hunter2|BEGIN|PRIVATE|whsec|AQEB/)
    expect(shown).toContain('X-Api-Key')
    expect(shown).toContain('https://a.example/hook')
    expect(decoded.right.webhooks[0]).toMatchObject({ url: given.url, headers, tls: given.tls })
    expect(decodeSettings(decoded.right)._tag).toBe('Right')
  })

  it('errors of the codec hold no value, also in a configuration of the host (H12)', () => {
    const hook = { url: 'ftp://a.example/?hunter2', secret: 'hunter2', headers: { A: 'hunter2\n' } }
    const hooks = { sharedSecret: 'hunter2\n', enabled: 'hunter2', webhooks: [hook, 'hunter2'] }
    const Both = t.intersection([t.type({ port: t.number }), t.type({ hooks: Settings })])
    for (const at of ['', 'hooks.']) {
      const decoded = at === '' ? Settings.decode(hooks) : Both.decode({ port: 1, hooks })
      if (decoded._tag === 'Right') throw new Error('right settings')
      const paths = ['sharedSecret', 'enabled', 'webhooks[0].url', 'webhooks[0]["headers.A"]', 'webhooks[1]']
      expect(faultsOf(decoded.left).map(({ path }) => path)).toEqual(paths.map((path) => at + path))
      const shown = JSON.stringify(decoded)
      expect(shown + inspect(decoded, { depth: 20, showHidden: true })).not.toContain('hunter2')
    }
  })
})

describe('webhookDestination', () => {
  it('throws one ConfigError with a stable code and every fault', () => {
    const input = { sharedSecret: ' ', enabled: 1, webhooks: [{ url: 'x' }, { url: 'ftp://a' }], other: 1 }
    const error = thrown(() => webhookDestination(input as never))
    expect(error).toBeInstanceOf(ConfigError)
    const paths = ['sharedSecret', 'enabled', 'webhooks[0].url', 'webhooks[1].url', 'other']
    expect(error).toMatchObject({ code: 'HEADRACE_CONFIG', faults: paths.map((path) => ({ path })) })
    expect(String(error)).toContain('webhooks[0].url is not a URL')
  })

  it('throws one ConfigError with every fault of the options, unknown ones too', () => {
    const webhooks = [{ url: 'https://a.example' }, { url: 'https://b.example' }]
    const faultsWith = (options: object) =>
      faultPaths(() => webhookDestination({ webhooks }, { logger: false, ...options }))
    expect(faultsWith({ messageIdHeader: 'Content-Type' })).toEqual(['messageIdHeader'])
    expect(faultsWith({ messageIdHeader: 'no header', statuses: 7 })).toEqual(['statuses', 'messageIdHeader'])
    expect(faultsWith({ concurrency: 0, timeout: '5', clok: 1 })).toEqual(['timeout', 'concurrency', 'clok'])
  })
})
