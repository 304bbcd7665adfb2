import { readFileSync, statSync } from 'node:fs'
import { expect, it, test } from 'vitest'
import type { Receiver } from '../../src/testing/loopbackReceiver.ts'
import { headrace, linesOf, receiverOf, recordsOf, scratch, served, steady, track } from './inProcess.ts'

const env = { WRITE_KEY: 'wk-1', EMPTY: '' }
const key = ['--write-key-env', 'WRITE_KEY']
const NAME = /"event":"(\w+)"/g
const membersOf = (receiver: Receiver): ReadonlyArray<ReadonlyArray<string>> =>
  receiver.received.map(({ body }) => Array.from(String(body).matchAll(NAME), ([, event = '']) => event))

const tracks = (count: number): string => Array.from({ length: count }, (_, at) => track(`e${at}`)).join('')

it('posts batches of the size that was asked for, in order, with the key, and accounts for them', async () => {
  const receiver = await receiverOf()
  const args = ['batch', '--endpoint', receiver.url, ...key, '--flush-at', '3']
  const { code, stdout, stderr } = await headrace(args, { env, input: `${tracks(7)}oops\n` })
  expect(membersOf(receiver)).toEqual([['e0', 'e1', 'e2'], ['e3', 'e4', 'e5'], ['e6']])
  expect(receiver.received.map(({ path, headers }) => [path, headers['authorization']])).toEqual(
    Array.from({ length: 3 }, () => ['/v1/batch', `Basic ${Buffer.from('wk-1:').toString('base64')}`]),
  )
  const shown = (at: number) =>
    `delivered  line ${at + 1}    track    e${at}  http://127.0.0.1:PORT/v1/batch 200`
  expect(linesOf(steady(stdout))).toEqual([0, 1, 2, 3, 4, 5, 6].map(shown))
  expect(linesOf(steady(stderr))).toEqual([
    expect.stringContaining('refused    line 8'),
    'headrace: http://127.0.0.1:PORT/v1/batch  3 succeeded, 0 failed',
    'headrace: read 8 (1 refused) · delivered 7',
  ])
  expect(code).toBe(4)
})

it('one bad event costs one event, and is kept, to be sent again', async () => {
  const receiver = await receiverOf(({ body }) =>
    body.includes('"poison"') ? { do: 'status', code: 400 } : { do: 'status', code: 200 },
  )
  const dead = `${scratch()}/dead.ndjson`
  const input = tracks(9) + track('poison', { properties: { total: 1 } }) + tracks(9)
  const args = ['batch', '--endpoint', receiver.url, ...key, '--dead', dead, '--output', 'json']
  const { code, stdout } = await headrace(args, { env, input })
  const records = recordsOf(stdout)
  expect(records.at(-1)).toMatchObject({ t: 'summary', accepted: 19, delivered: 18, rejected: 1, waiting: 0 })
  expect(records.filter(({ outcome }) => outcome === 'rejected')).toMatchObject([
    { line: 10, id: 'poison', type: 'track', causes: [{ reason: 'status', status: 400 }] },
  ])
  expect(statSync(dead).mode & 0o777).toBe(0o600)
  const [kept] = recordsOf(readFileSync(dead, 'utf8'))
  expect(kept).toMatchObject({ type: 'track', userId: 'u1', event: 'poison', properties: { total: 1 } })
  expect(code).toBe(3)
})

it('tries again: the same messages under the same ids, and says that a batch waits', async () => {
  let requests = 0
  const receiver = await receiverOf(() => ({ do: 'status', code: ++requests === 1 ? 503 : 200 }))
  const args = ['batch', '--endpoint', receiver.url, ...key]
  const { code, stdout } = await headrace(args, { env, input: tracks(2) })
  const both = ['e0', 'e1']
  expect(membersOf(receiver)).toEqual([both, both])
  expect(linesOf(steady(stdout))).toEqual([
    expect.stringMatching(/^waiting {4}line 1 {4}batch of 2 {2}attempt 1 failed: 503; again in TIME$/),
    expect.stringContaining('delivered  line 1    track    e0  http://127.0.0.1:PORT/v1/batch 200, after 2'),
    expect.stringContaining('delivered  line 2'),
  ])
  expect(code).toBe(0)
})

it('H11: shows no text of the endpoint that could steer a terminal', async () => {
  const body = 'bad \u202e\u200b\u{E0041}\ufe0f\u009b31m key'
  const url = await served((_, response) => response.writeHead(401).end(body))
  const args = ['batch', '--endpoint', url, ...key]
  const lines = await headrace(args, { env, input: tracks(1) })
  expect(lines.stdout).toContain('bad ?????31m key')
  const json = await headrace([...args, '--output', 'json'], { env, input: tracks(1) })
  for (const text of [lines.stdout, lines.stderr, json.stdout])
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
})

test.each<[what: string, args: ReadonlyArray<string>, sentence: RegExp]>([
  ['no key', [], /--write-key-env is missing: give the variable that holds the write key/],
  ['a key that is not set', ['--write-key-env', 'hunter2'], /--write-key-env names a variable .* is not set/],
  ['a key that is empty', ['--write-key-env', 'EMPTY'], /--write-key-env names a variable .* is empty/],
  ['an endpoint without a scheme', [...key, '--endpoint', 'a.example'], /--endpoint is not a URL/],
  ['a forbidden header', [...key, '--header', 'Host: a.example'], /--header Host /],
])('bad arguments: %s', async (_what, args, sentence) => {
  const { code, stdout, stderr } = await headrace(['batch', ...args], { env })
  expect(stderr).toMatch(sentence)
  expect(stderr).toMatch(/^headrace batch: /)
  expect(stderr).not.toMatch(/hunter2|wk-1/)
  expect([stdout, code]).toEqual(['', 2])
})
