import * as fc from 'fast-check'
import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import type { Report } from '../../src/cli/report.ts'
import { forward } from '../../src/cli/forward.ts'
import type { ForwardOptions } from '../../src/cli/forward.ts'
import { toWebhooks } from '../../src/cli/send.ts'
import { addsUp } from '../../src/cli/summary.ts'
import { limitRetries } from '../../src/policy/retryPolicy.ts'
import { ndjson } from '../../src/sources/ndjson.ts'
import { receiverOf, track } from './inProcess.ts'

const inputOf = (lines: AsyncIterable<string> | ReadonlyArray<string>): ForwardOptions['input'] => ({
  name: undefined,
  lines: () => ndjson(Readable.from(lines)),
  markAt: () => undefined,
  has: () => Promise.resolve(false),
})

/** A run over these lines, to a receiver that answers with the status that the event is named after. */
const running = async (
  lines: AsyncIterable<string> | ReadonlyArray<string>,
  { maxBytes = 268_435_456, ...more }: Partial<ForwardOptions> & { readonly maxBytes?: number } = {},
) => {
  const receiver = await receiverOf(({ body }) => ({
    do: 'status',
    code: Number((JSON.parse(body.toString()) as { event: string }).event),
  }))
  const reports: Report[] = []
  const lost: string[] = []
  const { done } = forward({
    input: inputOf(lines),
    open: toWebhooks(
      { webhooks: [{ url: receiver.url }] },
      { logger: false, retry: limitRetries(0), maxBytes },
      50,
    ),
    grace: 0,
    stop: { gently: new AbortController().signal, now: new AbortController().signal },
    report: (report) => reports.push(report),
    undelivered: (_event, reason) => lost.push(reason),
    onResumed: () => undefined,
    onInputError: () => undefined,
    caughtUp: () => Promise.resolve(),
    ...more,
  })
  return { receiver, reports, lost, account: await done }
}

it('accounts for each of a thousand lines, whatever becomes of it', async () => {
  const kinds = {
    delivered: track('200'),
    rejected: track('404'),
    expired: track('503'),
    refused: 'oops\n',
    invalid: track('200', { userId: 7 }),
    blank: ' \n',
  }
  const names = Object.keys(kinds) as ReadonlyArray<keyof typeof kinds>
  const drawn = fc.sample(fc.constantFrom(...names), 1_000)
  const count = (...which: ReadonlyArray<keyof typeof kinds>): number =>
    drawn.filter((name) => which.includes(name)).length
  expect(Math.min(...names.map((name) => count(name)))).toBeGreaterThan(50)

  const { account, receiver, reports, lost } = await running(drawn.map((name) => kinds[name]))
  const { summary } = account
  expect(summary).toEqual({
    read: count('delivered', 'rejected', 'expired', 'refused', 'invalid'),
    refused: count('refused', 'invalid'),
    accepted: count('delivered', 'rejected', 'expired'),
    delivered: count('delivered'),
    rejected: count('rejected'),
    expired: count('expired'),
    dropped: 0,
    abandoned: 0,
    waiting: 0,
  })
  expect(addsUp(summary)).toBe(true)
  expect(account).toMatchObject({ cut: false, inputError: undefined })
  expect(receiver.received.length).toBe(summary.accepted)
  expect(lost.length).toBe(summary.rejected + summary.expired)

  // Each line is reported with its own number, and with what became of it.
  const told = new Map(
    reports.flatMap((report): ReadonlyArray<[number, string]> => {
      if (report.t === 'outcome') return [[report.line, report.outcome]]
      return report.t === 'refused' ? [[report.line, report.reason]] : []
    }),
  )
  const expected = drawn.flatMap((name, at): ReadonlyArray<[number, string]> => {
    if (name === 'blank') return []
    return [[at + 1, name === 'refused' ? 'notJson' : name]]
  })
  expect(told).toEqual(new Map(expected))
})

it('waits for room in bytes, where there is room in count', async () => {
  const events = Array.from({ length: 20 }, (_, at) => track('200', { messageId: `m${at}` }))
  let most = 0
  let begun = 0
  const { account } = await running(events, {
    // One body has some 150 bytes, so one fits and two do not.
    maxBytes: 250,
    report: ({ t }) => {
      if (t === 'attempt') begun++
      if (t === 'outcome') begun--
      most = Math.max(most, begun)
    },
  })
  expect(account.summary).toMatchObject({ delivered: 20, refused: 0 })
  expect(most).toBe(1)
})

it('reads nothing before its reports have been taken', async () => {
  let taken = 0
  let asked = 0
  const { account } = await running([track('200'), 'oops\n', track('200')], {
    caughtUp: () => {
      asked++
      return Promise.resolve().then(() => {
        taken++
      })
    },
    report: () => expect(taken).toBe(asked),
  })
  expect([asked, account.summary.read]).toEqual([3, 3])
})

it('delivers what it has when its input fails, and says why', async () => {
  const failing = async function* (): AsyncGenerator<string> {
    yield await Promise.resolve(track('200'))
    throw new Error('torn')
  }
  const { account } = await running(failing())
  expect(account.summary.delivered).toBe(1)
  expect(account.cut).toBe(true)
  expect(account.inputError).toEqual(new Error('torn'))
})

it('reads no further when the store fails, so that the same command goes on from there', async () => {
  const receiver = await receiverOf()
  const open = toWebhooks({ webhooks: [{ url: receiver.url }] }, { logger: false }, 50)
  const errors: unknown[] = []
  let offers = 0
  let isFinished = false
  const { account, reports } = await running(
    Array.from({ length: 1_000 }, () => track('200')),
    {
      open: (onEvent, reading) => {
        const target = open(onEvent, reading)
        return {
          ...target,
          offer: (value) => (++offers > 3 ? Promise.reject(new Error('no room')) : target.offer(value)),
          stored: {
            bookmark: () => undefined,
            finish: async () => {
              isFinished = true
            },
            evicted: () => 0,
            corrupt: () => 0,
          },
        }
      },
      onInputError: (error) => errors.push(error),
    },
  )
  expect(account).toMatchObject({ cut: true, inputError: new Error('no room') })
  expect(account.summary).toMatchObject({ accepted: 3, delivered: 3 })
  expect(offers).toBeLessThan(400)
  expect(reports.filter(({ t }) => t === 'refused')).toHaveLength(offers - 3)
  expect([errors.length, isFinished]).toEqual([1, false])
})
