import { expect, it, test } from 'vitest'
import { configFile, headrace, linesOf, recordsOf } from './inProcess.ts'

const env = { WEB_KEY: 'wk-1', HOOKS_SECRET: 'correct horse', EMPTY: '' }

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

const check = (config: unknown, ...flags: ReadonlyArray<string>) =>
  headrace(['check', configFile(config), ...flags], { env })

it('says what a file that is right holds', async () => {
  const { code, stdout, stderr } = await check(good)
  expect(stdout).toMatch(/collector\.json is valid: 1 source, 1 destination\n$/)
  expect([code, stderr]).toEqual([0, ''])
})

it('names what looks like an oversight, and takes it', async () => {
  const url = 'http://a.example/hook?token=hunter2'
  const { code, stderr } = await check({
    sources: ['web', 'app'].map((id) => ({ id, writeKey: id })),
    destinations: [{ name: 'hooks', sources: ['web'], webhooks: [{ url }] }],
  })
  expect(linesOf(stderr).map((line) => line.replace('headrace check: ', ''))).toEqual([
    'no destination is connected to the source app: its events go nowhere',
    'the destination hooks has no sharedSecret: its receivers cannot tell who posts to them',
    'the destination hooks posts to http://a.example without TLS: anyone on the way can read it',
  ])
  expect(code).toBe(0)
})

test.each<[what: string, config: unknown, sentence: string]>([
  ['no JSON', '{"sources":[\n 1,}', 'is not JSON at line 2, column 4'],
  [
    'an unknown source',
    { ...good, sources: [{ id: 'app', writeKey: 'hunter2' }] },
    'destinations[0].sources[0] is not the id of a source (the ids are app)',
  ],
  ['a misspelt setting', { ...good, source: [] }, 'unknown option "source"'],
])('a file that is wrong: %s', async (_what, config, sentence) => {
  const { code, stdout, stderr } = await check(config)
  expect(stderr).toContain(sentence)
  expect(stderr).not.toContain('hunter2')
  expect([code, stdout]).toEqual([2, ''])
})

it('tells every fault at once, to programs too, and no name of a variable, which may be the secret', async () => {
  const source = (id: string, name: unknown) => ({ id, writeKey: { env: name } })
  const sources = [source('', 'hunter2'), source('b', 'EMPTY'), source('c', 7), source('d', 'toString')]
  const { code, stdout } = await check({ sources, destinations: [], extra: 1 }, '--output', 'json')
  const [record] = recordsOf(stdout) as [{ faults: ReadonlyArray<string> }]
  expect(record).toMatchObject({ v: 1, t: 'checked' })
  const named = 'names a variable of the environment that is'
  expect(record.faults.map((line) => line.replace(/^.*json: /, ''))).toEqual([
    `sources[0].writeKey ${named} not set: set it with export`,
    `sources[1].writeKey ${named} empty: set it with export`,
    'sources[2].writeKey must be {"env": "NAME"}, with the name of a variable of the environment',
    `sources[3].writeKey ${named} not set: set it with export`,
    'sources[0].id must be a string that is not empty, not an empty one',
    'unknown option "extra" (the options are sources, destinations)',
  ])
  expect(code).toBe(2)
})
