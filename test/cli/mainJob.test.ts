import { readFileSync } from 'node:fs'
import { createHmac } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { loopbackReceiver } from '../../src/testing/loopbackReceiver.ts'
import { headrace, linesOf, recordsOf, track } from './command.ts'
import { expressReceiver, pythonReceiver } from './receivers.ts'

const EVENTS = fileURLToPath(new URL('../../docs/examples/events.ndjson', import.meta.url))
const SECRET = 'correct horse 🐎'

const inputEvents = readFileSync(EVENTS, 'utf8')
  .split('\n')
  .filter((line) => line.trim() !== '')
  .map((line) => JSON.parse(line) as { readonly type: string })

const typesOf = (events: ReadonlyArray<{ readonly type: string }>): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const { type } of events) counts[type] = (counts[type] ?? 0) + 1
  return counts
}

it('sends real events to receivers that are not ours: every signature verifies, all totals agree', async () => {
  const [viaExpress, viaPython] = await Promise.all([expressReceiver(SECRET), pythonReceiver(SECRET)])
  const { code, stdout, stderr } = await headrace(
    [
      'send',
      EVENTS,
      '--to',
      viaExpress.url,
      '--to',
      viaPython.url,
      '--secret-env',
      'SECRET',
      '--output',
      'json',
    ],
    { env: { SECRET } },
  )
  // The file has fields on purpose that their events do not have; that is told, once each, and costs nothing.
  expect(stderr.split('\n')).toEqual([
    'left out   line 6    context: not a field of this kind of event (told once)',
    'left out   line 38   sentAt, writeKey, channel: not a field of this kind of event (told once)',
    '',
  ])
  expect(code).toBe(0)

  const records = recordsOf(stdout)
  const count = inputEvents.length
  const none = { refused: 0, rejected: 0, expired: 0, dropped: 0, abandoned: 0, waiting: 0 }
  expect(records.at(-1)).toEqual({
    v: 1,
    t: 'summary',
    read: count,
    accepted: count,
    delivered: count,
    ...none,
  })

  const types = typesOf(inputEvents)
  expect(Object.keys(types).length).toBe(7)
  expect(count).toBeGreaterThanOrEqual(200)
  expect(await viaExpress.found()).toEqual({ requests: count, verified: count, types })
  expect(await viaPython.found()).toEqual({ requests: count, verified: count, types })

  const urls = records.filter(({ t }) => t === 'url')
  expect(urls.length).toBe(2)
  for (const { url } of [viaExpress, viaPython])
    expect(urls).toContainEqual({ v: 1, t: 'url', url, delivered: count, failed: 0, passedOver: 0 })
  const outcomes = records.filter(({ t }) => t === 'outcome')
  expect(outcomes.map(({ line }) => Number(line)).sort((a, b) => a - b)).toEqual(
    inputEvents.map((_, at) => at + 1),
  )
})

it('sends the same bytes again: 503 twice, then 200, is three identical requests', async () => {
  const receiver = await loopbackReceiver([
    { do: 'status', code: 503 },
    { do: 'status', code: 503 },
  ])
  onTestFinished(receiver.close)
  const { code, stdout } = await headrace(
    ['send', '--to', receiver.url, '--secret-env', 'SECRET', '--header', 'X-Team: blue'],
    { env: { SECRET }, input: track('Signed Up', { properties: { ünïcode: ['☃', { '2': 1, '1': 2 }] } }) },
  )
  expect(code).toBe(0)
  expect(linesOf(stdout).map((line) => line.split(' ')[0])).toEqual(['waiting', 'waiting', 'delivered'])
  expect(stdout).toMatch(/200, after 3 attempts\n$/)

  const [first, ...others] = receiver.received.map(({ method, path, rawHeaders, body }) => ({
    request: [method, path, ...rawHeaders],
    body: body.toString('latin1'),
  }))
  expect(others).toEqual([first, first])
  const signature = createHmac('sha1', SECRET)
    .update(Buffer.from(first?.body ?? '', 'latin1'))
    .digest('hex')
  expect(first?.request).toEqual(
    expect.arrayContaining(['X-Signature', signature, 'X-Team', 'blue', 'headrace/1.0']),
  )
})
