/** The built command against receivers that are not ours, and with little memory. */
import { appendFileSync, writeFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { served } from '../cli/inProcess.ts'
import events from '../fixtures/events.json' with { type: 'json' }
import { headrace, recordsOf, scratch } from './command.ts'
import { documentedReceiver, expressReceiver } from './receivers.ts'

const SECRET = 'correct horse 🐎'

const inputEvents = events.map((line) => JSON.parse(line) as { readonly type: string })

it('sends real events to receivers that are not ours: every signature verifies, all totals agree', async () => {
  const viaExpress = await expressReceiver(SECRET)
  const viaPython = await documentedReceiver(SECRET, () => ['python3', 'verify.py'])
  const to = ['--to', viaExpress.url, '--to', viaPython]
  const file = `${scratch()}/events.ndjson`
  writeFileSync(file, events.join('\n'))
  const send = ['send', file, '--secret-env', 'SECRET', '--output', 'json', ...to]
  const { code, stdout, stderr } = await headrace(send, { env: { SECRET } })
  // The file has fields on purpose that their events do not have; that is told, once each, and costs nothing.
  expect(stderr.split('\n')).toEqual([
    'left out   line 6    context: not a field of this kind of event (reported once)',
    'left out   line 38   sentAt, writeKey, channel: not a field of this kind of event (reported once)',
    '',
  ])
  expect(code).toBe(0)

  const records = recordsOf(stdout)
  const count = inputEvents.length
  expect(records.at(-1)).toEqual({
    ...{ v: 1, t: 'summary', read: count, accepted: count, delivered: count },
    ...{ refused: 0, rejected: 0, expired: 0, dropped: 0, abandoned: 0, waiting: 0 },
  })

  const types: Record<string, number> = {}
  for (const { type } of inputEvents) types[type] = (types[type] ?? 0) + 1
  expect(Object.keys(types).length).toBe(7)
  expect(count).toBeGreaterThanOrEqual(200)
  expect(viaExpress.found).toEqual({ requests: count, verified: count, types })

  const urls = records.filter(({ t }) => t === 'url')
  expect(urls.length).toBe(2)
  // Python answers 401 to what it cannot verify, so what it took is signed.
  for (const url of [viaExpress.url, viaPython])
    expect(urls).toContainEqual({ v: 1, t: 'url', url, delivered: count, failed: 0, passedOver: 0 })
  const outcomes = records.filter(({ t }) => t === 'outcome')
  const lines = outcomes.map(({ line }) => Number(line)).sort((a, b) => a - b)
  expect(lines).toEqual(inputEvents.map((_, at) => at + 1))
})

const IS_LONG = process.env['RUNS'] === '10000'
const COUNT = IS_LONG ? 1_000_000 : 30_000
/** The heap that the command gets, in MiB: beyond it Node ends the process. */
const HEAP = 80
/** What the process may take in all, code and buffers included: the stated bound. */
const RSS = 300
/** It prints the most that the process took, `VmHWM`: `maxRSS` also counts what its parent had at the fork. */
const END = `data:text/javascript,import{readFileSync}from'fs';
process.on('exit',()=>console.error(''+readFileSync('/proc/self/status')))`
const environment = { NODE_OPTIONS: `--max-old-space-size=${HEAP} --import=${END}` }

const eventsFile = (): string => {
  const path = `${scratch()}/events.ndjson`
  for (let at = 0; at < COUNT; at++) {
    // The file is far larger than the heap.
    const properties = { at, padding: 'x'.repeat(IS_LONG ? 300 : 3_000) }
    appendFileSync(path, `${JSON.stringify({ type: 'track', userId: `u${at}`, event: 'E', properties })}\n`)
  }
  return path
}

/** It answers nothing until it is let go, so that a sender has time to read ahead. */
const stalledReceiver = async (): Promise<{ url: string; requests: () => number; go: () => void }> => {
  const held: Array<() => void> = []
  let requests = 0
  let going = false
  const url = await served((request, response) => {
    requests++
    request.resume().on('end', () => {
      const answer = (): void => void response.end()
      if (going) answer()
      else held.push(answer)
    })
  })
  return {
    url,
    requests: () => requests,
    go: () => {
      going = true
      for (const answer of held) answer()
    },
  }
}

it(
  `sends ${COUNT} events to a slow receiver with a heap of ${HEAP} MiB, and ${RSS} MiB in all`,
  async () => {
    const [file, receiver] = [eventsFile(), await stalledReceiver()]
    const flags = ['--output', 'quiet', '--timeout', '1h', '--max-waiting', '1000']
    const sending = headrace(['send', file, '--to', receiver.url, ...flags], { env: environment })
    // In this time it would read the whole file, if it did not wait for room.
    await Promise.race([sending, wait(3_000)])
    receiver.go()
    const { code, stderr } = await sending
    expect(stderr).toContain(`headrace: read ${COUNT} · delivered ${COUNT}\n`)
    expect(code).toBe(0)
    expect(receiver.requests()).toBe(COUNT)
    expect(Number(/VmHWM:\s*(\d+)/.exec(stderr)?.[1]) / 1024).toBeLessThan(RSS)
  },
  IS_LONG ? 1_800_000 : 300_000,
)
