import { left } from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { writeFileSync } from 'node:fs'
import { PassThrough, Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { forward, type Job } from '../../src/cli/forward.ts'
import { openInput, streamInput } from '../../src/cli/input.ts'
import { toWebhooks } from '../../src/cli/send.ts'
import { terminalOf } from '../../src/cli/terminal.ts'
import { notStored } from '../../src/core/refusal.ts'
import { storedEvents } from '../../src/destination/record.ts'
import { lmdbOutbox } from '../../src/outbox/lmdb/lmdbOutbox.ts'
import { limitRetries } from '../../src/policy/retryPolicy.ts'
import { collected, hostOf, receiverOf, recordsOf, scratch, track } from './inProcess.ts'

const running = async (
  lines: AsyncIterable<string> | ReadonlyArray<string>,
  more: Partial<Job> = {},
  maxBytes = 268_435_456,
) => {
  const receiver = await receiverOf(({ body }) => ({
    do: 'status',
    code: Number((JSON.parse(body.toString()) as { event: string }).event),
  }))
  const stdout = collected(new PassThrough())
  const settings = { webhooks: [{ url: receiver.url }] }
  const stderr = new PassThrough({ encoding: 'utf8' })
  const ended = await forward(
    {
      input: streamInput(() => Readable.from(lines)),
      open: toWebhooks(settings, { retry: limitRetries(0), maxBytes, maxCount: 50 }),
      ...{ maxWaiting: 50, grace: 0, output: 'json' },
      ...more,
    },
    terminalOf(hostOf({ stdout: stdout.stream, stderr }), 'never'),
  )
  return { ...ended, receiver, reports: recordsOf(stdout.text()), stderr: String(stderr.read()) }
}

it('accounts for each of a thousand lines, whatever becomes of it', async () => {
  const kinds = {
    ...{ delivered: track('200'), rejected: track('404'), expired: track('503') },
    ...{ refused: 'oops\n', invalid: track('200', { userId: 7 }), blank: ' \n' },
  }
  const names = Object.keys(kinds) as ReadonlyArray<keyof typeof kinds>
  const drawn = fc.sample(fc.constantFrom(...names), 1_000)
  const count = (...which: typeof names) => drawn.filter((name) => which.includes(name)).length
  expect(Math.min(...names.map((name) => count(name)))).toBeGreaterThan(50)

  const { summary, receiver, reports } = await running(drawn.map((name) => kinds[name]))
  expect(summary).toEqual({
    read: 1_000 - count('blank'),
    refused: count('refused', 'invalid'),
    accepted: count('delivered', 'rejected', 'expired'),
    delivered: count('delivered'),
    rejected: count('rejected'),
    expired: count('expired'),
    ...{ dropped: 0, abandoned: 0, waiting: 0 },
  })
  expect(receiver.received.length).toBe(summary.accepted)
  const ends = reports.filter(({ t }) => t === 'outcome' || t === 'refused')
  const told = new Map(ends.map(({ line, outcome, reason }) => [line, outcome ?? reason]))
  drawn.forEach((name, at) => {
    if (name === 'blank') expect(told.has(at + 1)).toBe(false)
    else expect(told.get(at + 1)).toBe(name === 'refused' ? 'notJson' : name)
  })
})

it('waits for room in bytes, where there is room in count', async () => {
  const events = Array.from({ length: 20 }, (_, at) => track('200', { messageId: `m${at}` }))
  // One body has some 150 bytes, so one fits and two do not.
  const { summary, reports } = await running(events, {}, 600)
  expect(summary).toMatchObject({ delivered: 20, refused: 0 })
  const order = reports.map(({ t }) => t).filter((t) => t === 'attempt' || t === 'outcome')
  expect(order).toEqual(events.flatMap(() => ['attempt', 'outcome']))
})

it('delivers what it has when its input fails, and says why; calls no stopped input empty', async () => {
  const failing = async function* (): AsyncGenerator<string> {
    yield await Promise.resolve(track('200'))
    throw new Error('torn')
  }
  const { code, summary, stderr } = await running(failing())
  expect([code, summary.delivered, stderr.includes('to its end: torn')]).toEqual([1, 1, true])
  const stop = { gently: AbortSignal.abort(), now: new AbortController().signal, onSignal: () => undefined }
  expect((await running([track('200')], { stop })).stderr).not.toContain('holds no events')
})

it('reads no further when the store fails, so that the same command goes on from there', async () => {
  const { url } = await receiverOf()
  const open = toWebhooks({ webhooks: [{ url }] }, {})
  const folder = scratch()
  const [path, file] = [`${folder}/outbox`, `${folder}/events`]
  writeFileSync(file, track('200').repeat(1_000))
  let offers = 0
  const { code, summary, stderr } = await running([], {
    input: await openInput(file, hostOf()),
    place: { name: path, flags: '' },
    open: (onEvent, outbox) => {
      const target = open(onEvent, outbox)
      return {
        ...target,
        offer: (value) => (++offers > 3 ? left(notStored(value, 'no room')) : target.offer(value)),
      }
    },
  })
  expect(summary).toMatchObject({ accepted: 3, delivered: 3, refused: offers - 3 })
  expect(stderr.match(/not read to its end: .* no room/g)).toHaveLength(1)
  expect(offers).toBeLessThan(400)
  expect(code).toBe(1)
  const store = lmdbOutbox({ path, codec: storedEvents })
  expect(store.bookmark(file)).toMatch(/^3 \d+ \d+ \d+$/)
  await store.close()
})
