import { writeFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { withSecrets } from '../../src/cli/config.ts'
import { headrace, linesOf, recordsOf, scratch } from './inProcess.ts'

const env = { WEB_KEY: 'wk-1', HOOKS_SECRET: 'correct horse' }

const good = {
  sources: [{ id: 'web', writeKey: { env: 'WEB_KEY' }, deletions: true }],
  destinations: [
    {
      name: 'hooks',
      sources: ['web'],
      sharedSecret: { env: 'HOOKS_SECRET' },
      webhooks: [{ url: 'https://a.example/hook', headers: { 'X-Team': 'blue' } }],
    },
  ],
}

const check = (config: unknown, ...flags: ReadonlyArray<string>) => {
  const file = `${scratch()}/collector.json`
  writeFileSync(file, typeof config === 'string' ? config : JSON.stringify(config))
  return headrace(['check', file, ...flags], { env })
}

it('says what a file that is right holds', async () => {
  const { code, stdout, stderr } = await check(good)
  expect(linesOf(stdout)).toEqual([
    'source web: on, may ask for deletions',
    'destination hooks: on, from web, to 1 URL, signed',
    expect.stringMatching(/collector\.json is valid$/),
  ])
  expect([code, stderr]).toEqual([0, ''])
})

it('names what looks like an oversight, and takes it', async () => {
  const { code, stderr } = await check({
    sources: [
      { id: 'web', writeKey: 'k', enabled: false },
      { id: 'app', writeKey: 'l' },
    ],
    destinations: [
      {
        name: 'hooks',
        sources: ['web'],
        enabled: false,
        webhooks: [{ url: 'http://a.example/hook?token=hunter2' }],
      },
    ],
  })
  expect(linesOf(stderr).map((line) => line.replace('headrace check: ', ''))).toEqual([
    'no destination is connected to the source app: its events are accepted and go nowhere',
    'the source web is off: its requests are answered 404',
    'the destination hooks is off: it gets nothing',
    'the destination hooks has no sharedSecret: its receivers cannot tell who posts to them',
    'the destination hooks posts to http://a.example without TLS: anyone on the way can read it',
  ])
  expect(code).toBe(0)
})

test.each<[what: string, config: unknown, sentence: string]>([
  ['no JSON', '{"sources":[\n 1,}', 'is not JSON: at line 2, column 4 there should be a value'],
  ['an empty file', '', 'is not JSON: at line 1, column 1'],
  ['no object', [], 'must be an object'],
  [
    'a secret that is not set',
    { ...good, sources: [{ id: 'web', writeKey: { env: 'hunter2' } }] },
    'sources[0].writeKey names a variable of the environment that is not set',
  ],
  [
    'an empty key',
    { ...good, sources: [{ id: 'web', writeKey: '' }] },
    'sources[0].writeKey must not be empty',
  ],
  [
    'an unknown source',
    { ...good, sources: [{ id: 'app', writeKey: 'hunter2' }] },
    'destinations[0].sources[0] is not the id of a source',
  ],
  ['a misspelt setting', { ...good, source: [] }, 'unknown option "source"'],
])('a file that is wrong: %s', async (_what, config, sentence) => {
  const { code, stdout, stderr } = await check(config)
  expect(stderr).toContain(sentence)
  expect(stderr).not.toContain('hunter2')
  expect([code, stdout]).toEqual([2, ''])
})

it('a variable that is missing hides no other fault', async () => {
  const { stderr } = await check({ ...good, sources: [{ id: '', writeKey: { env: 'NOPE' } }], extra: 1 })
  expect(linesOf(stderr).map((line) => line.replace(/^.*json: /, ''))).toEqual([
    'sources[0].writeKey names a variable of the environment that is not set: set it with export',
    'sources[0].id must be a string that is not empty, not an empty one',
    'destinations[0].sources[0] is not the id of a source',
    'unknown option "extra"',
  ])
})

it('tells every fault at once, to programs too', async () => {
  const { code, stdout } = await check({ sources: [], destinations: [{ name: '' }] }, '--output', 'json')
  const [record] = recordsOf(stdout)
  expect(record).toMatchObject({ v: 1, t: 'checked' })
  expect((record as { faults: ReadonlyArray<string> }).faults.length).toBeGreaterThan(2)
  expect(code).toBe(2)
})

it('a file that is not there', async () => {
  const { code, stderr } = await headrace(['check', 'no-such-file.json'])
  expect(stderr).toBe('headrace check: no-such-file.json cannot be read: there is no such file or folder\n')
  expect(code).toBe(2)
})

const variables = { KEY: 'k-1', SECRET: 's-1', EMPTY: '' }

describe('secrets of a configuration', () => {
  it('come from the environment, wherever a text may stand', () => {
    const config = {
      sources: [{ id: 'web', writeKey: { env: 'KEY' } }],
      destinations: [
        {
          name: 'hooks',
          sharedSecret: { env: 'SECRET' },
          webhooks: [{ headers: { 'X-Key': { env: 'KEY' } } }],
        },
      ],
    }
    expect(withSecrets(config, variables)).toEqual({
      faults: [],
      config: {
        sources: [{ id: 'web', writeKey: 'k-1' }],
        destinations: [{ name: 'hooks', sharedSecret: 's-1', webhooks: [{ headers: { 'X-Key': 'k-1' } }] }],
      },
    })
  })

  it('are all missed at once, each with its place, and without the name, which may be the secret itself', () => {
    const config = { a: [{ env: 'hunter2' }, { env: 'EMPTY' }], b: { env: 7 }, c: { env: 'toString' } }
    const result = withSecrets(config, variables)
    expect(result).toEqual({
      config: { a: ['missing-1', 'missing-2'], b: 'missing-3', c: 'missing-4' },
      faults: [
        { path: 'a[0]', message: expect.stringContaining('is not set: set it with export') },
        { path: 'a[1]', message: expect.stringContaining('is empty') },
        { path: 'b', message: expect.stringContaining('{"env": "NAME"}') },
        { path: 'c', message: expect.stringContaining('is not set') },
      ],
    })
    expect(JSON.stringify(result)).not.toContain('hunter2')
  })

  it('leave a configuration that has none as it is', () => {
    const plain = fc
      .jsonValue({ noUnicodeString: false })
      .filter((value) => !JSON.stringify(value).includes('"env"'))
    fc.assert(
      fc.property(plain, (config) => {
        expect(withSecrets(config, {})).toEqual({ config, faults: [] })
      }),
    )
  })

  it('takes an object that has more than env for what it is', () => {
    const config = { env: 'KEY', other: 1 }
    expect(withSecrets(config, variables)).toEqual({ config, faults: [] })
  })
})
