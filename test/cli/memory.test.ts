import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { headrace, scratch } from './command.ts'

const NIGHTLY = process.env['RUNS'] === '10000'
const EVENTS = NIGHTLY ? 1_000_000 : 30_000
/** Bytes of one event, so that the file is far larger than the heap. */
const PADDING = NIGHTLY ? 300 : 3_000

/** The heap that the command gets, in MiB: beyond it Node ends the process. */
const HEAP = 80
const PATIENCE = NIGHTLY ? 1_800_000 : 120_000
/** What the process may take in all, code and buffers included: the stated bound. */
const RSS = 300

/** Says at its end how much memory it took at most, in KiB. */
const WITNESS =
  "data:text/javascript,process.on('exit',()=>console.error('took',process.resourceUsage().maxRSS))"

const environment = { NODE_OPTIONS: `--max-old-space-size=${HEAP} --import=${WITNESS}` }

const eventsFile = async (): Promise<string> => {
  const path = `${scratch()}/events.ndjson`
  const file = createWriteStream(path)
  const padding = 'x'.repeat(PADDING)
  for (let at = 0; at < EVENTS; at++) {
    const event = { type: 'track', userId: `u${at}`, event: 'Order Completed', properties: { at, padding } }
    if (!file.write(`${JSON.stringify(event)}\n`)) await once(file, 'drain')
  }
  file.end()
  await once(file, 'close')
  return path
}

/** It answers nothing until it is let go: whoever reads ahead has the time to do it. */
const stalledReceiver = async (): Promise<{ url: string; requests: () => number; go: () => void }> => {
  const held: Array<() => void> = []
  let requests = 0
  let going = false
  const server = createServer((request, response) => {
    requests++
    request.resume().on('end', () => {
      const answer = (): void => void response.end()
      if (going) answer()
      else held.push(answer)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    requests: () => requests,
    go: () => {
      going = true
      for (const answer of held) answer()
    },
  }
}

const send = (file: string, url: string, maxWaiting: number) =>
  headrace(
    ['send', file, '--to', url, '--output', 'quiet', '--timeout', '1h', '--max-waiting', String(maxWaiting)],
    { env: environment },
  )

it(
  `sends ${EVENTS} events to a slow receiver with a heap of ${HEAP} MiB, and ${RSS} MiB in all`,
  async () => {
    const [file, receiver] = await Promise.all([eventsFile(), stalledReceiver()])
    const sending = send(file, receiver.url, 1_000)
    // In this time it would read the whole file, if it did not wait for room.
    await Promise.race([sending, wait(3_000)])
    receiver.go()
    const { code, stderr } = await sending
    expect(stderr).toContain(`${EVENTS} accepted = ${EVENTS} delivered\n`)
    expect(code).toBe(0)
    expect(receiver.requests()).toBe(EVENTS)
    expect(Number(/took (\d+)/.exec(stderr)?.[1]) / 1024).toBeLessThan(RSS)
  },
  PATIENCE,
)

it(
  'is backpressure and not luck: without it the same heap does not do',
  async () => {
    const [file, receiver] = await Promise.all([eventsFile(), stalledReceiver()])
    const { code, stderr } = await send(file, receiver.url, 1_000_000)
    expect(stderr).toMatch(/heap out of memory/)
    expect(code).not.toBe(0)
  },
  PATIENCE,
)
