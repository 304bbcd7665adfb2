import * as fc from 'fast-check'
import type { Client, ClientCall } from '../../client/client.ts'
import type { Message, SentBatch } from '../../client/message.ts'
import type { ClientOptions } from '../../client/options.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { Totals } from '../../core/totals.ts'
import { bodyOf } from '../../event/payload.ts'
import type { CloseResult } from '../../outbox/close.ts'
import { scriptedSink } from '../scriptedSink.ts'
import { makeWorld } from '../simulate.ts'
import { holds, same } from './assert.ts'
import { lawsOver, type Law, type Run } from './law.ts'
import { anyScript } from './sinkWorld.ts'

/** Makes the client under test: it must pass these options on to `createClient`. Their `sink` stands in place of the endpoint. */
export type OpenClient = (options: ClientOptions) => Client

const input = fc.record({
  seed: fc.nat(),
  script: anyScript,
  /** What is sent, or a flush, each `gap` milliseconds after the one before it. Every seventh call is invalid. */
  acts: fc.array(
    fc.record({
      gap: fc.constantFrom(0, 1, 60, 2_000, 6_000),
      calls: fc.array(fc.constantFrom(0, 0, 40, 300), { maxLength: 9, size: 'max' }),
      flushes: fc.nat(3).map((n) => n === 0),
    }),
    { minLength: 1, maxLength: 6, size: 'max' },
  ),
  size: fc.constantFrom(1, 3, 20),
  maxBatch: fc.constantFrom(1_500, 500_000),
  concurrency: fc.constantFrom(1, 1, 2),
  closeWithin: fc.constantFrom(0, 1_000, 60_000),
})
type Input = typeof input extends fc.Arbitrary<infer I> ? I : never

const TIMEOUT = 1_000
const MAX_MESSAGE = 700
/** Longer than the default retry policy goes on. */
const LONG = 6 * 3_600_000

const endsOf = ({ delivered, rejected, expired, dropped, abandoned }: Totals): number =>
  delivered + rejected + expired + dropped + abandoned

const play = async (open: OpenClient, given: Input, { reach, log }: Run) => {
  const { size, maxBatch, concurrency } = given
  const { clock, random } = makeWorld(given.seed, {}, log)
  const sink = scriptedSink<SentBatch>({ clock, script: given.script })
  const limits = { size, maxBatch, concurrency, timeout: TIMEOUT, maxMessage: MAX_MESSAGE }
  const client = open({ ...limits, sink, clock, random, logger: false, drainOnExit: false })
  const accepted: string[] = []
  /** `missing`: accepted minus the sum that it must equal, inside the callback. */
  const ended: Array<{ at: number; id: string; outcome: Outcome<Message>; missing: number; sent: number }> =
    []
  const flushes: Array<{ readonly open: ReadonlyArray<string>; endedBy: number | undefined }> = []
  let number = 0
  const note = (outcome: Outcome<Message>): void => {
    const totals = client.stats()
    const missing = totals.accepted - endsOf(totals) - totals.waiting
    ended.push({ at: clock.monotonic(), id: outcome.item.id, outcome, missing, sent: sink.calls.length })
    reach(outcome._tag)
  }
  client.outcomes$.subscribe({
    next: note,
    error: (error: unknown) => log(`outcomes$ fails with ${String(error)}`),
  })
  const send = (padding: number): void => {
    const messageId = `m${String(number++)}`
    const properties = { pad: 'x'.repeat(padding) }
    const call: ClientCall = { type: 'track', userId: 'u', event: 'Seen', messageId, properties }
    const answer = client.send(number % 7 === 0 ? { ...call, event: '' } : call)
    if (answer._tag === 'Right') accepted.push(answer.right.id)
  }
  const flush = async (): Promise<void> => {
    const isEnded = new Set(ended.map(({ id }) => id))
    const one: (typeof flushes)[number] = {
      open: accepted.filter((id) => !isEnded.has(id)),
      endedBy: undefined,
    }
    flushes.push(one)
    if (one.open.length > 0) reach('a flush with messages')
    await client.flush()
    one.endedBy = ended.length
  }
  for (const { gap, calls, flushes: isFlush } of given.acts) {
    await clock.advance(gap)
    for (const padding of calls) send(padding)
    if (isFlush) void flush()
  }
  await clock.settle()
  const closeAsked = clock.monotonic()
  let closedAt = Infinity
  let result: CloseResult<Message> | undefined
  void client.close({ timeout: given.closeWithin }).then((closing) => {
    closedAt = clock.monotonic()
    result = closing
  })
  await clock.advance(LONG)
  const timers = clock.timers().map(({ name }) => name)
  return {
    accepted,
    ended,
    flushes,
    closeAsked,
    closedAt,
    result,
    calls: sink.calls,
    timers,
    running: sink.running(),
  }
}

const idsOf = ({ members }: SentBatch): ReadonlyArray<string> => members.map(({ id }) => id)

/** The message ids in a body that a client wrote. */
const idsInBody = (batch: SentBatch): ReadonlyArray<string> => {
  const body = JSON.parse(bodyOf(batch, 0)) as {
    readonly batch: ReadonlyArray<{ readonly messageId: string }>
  }
  return body.batch.map(({ messageId }) => messageId)
}

/** The laws of a client of yours that is built on `createClient`: a façade, a subclass, one with defaults of your own. */
export const clientLaws = (open: OpenClient): ReadonlyArray<Law> =>
  lawsOver('client', input, (given, run) => play(open, given, run), {
    'ends-once': {
      statement: 'Each accepted call ends exactly once, at the latest in the close.',
      check: ({ accepted, ended }) => same(ended.map(({ id }) => id).toSorted(), accepted.toSorted()),
      situations: ['Delivered', 'Rejected', 'Abandoned'],
    },
    'adds-up': {
      statement: 'The totals add up inside each callback, and agree with the outcomes in the end.',
      check: ({ ended, result, accepted }) => {
        for (const { missing } of ended) same(missing, 0)
        const { delivered, rejected, abandoned, accepted: counted } = result?.totals ?? {}
        const count = (tag: string): number => ended.filter(({ outcome }) => outcome._tag === tag).length
        const counts = [accepted.length, count('Delivered'), count('Rejected'), count('Abandoned')]
        same([counted, delivered, rejected, abandoned], counts)
      },
      situations: ['Delivered', 'Rejected'],
    },
    'keeps-limits': {
      statement: 'A batch has at most the messages and bytes that are allowed, and its body is what it says.',
      check: ({ calls }, { size, maxBatch }) => {
        for (const { item } of calls) {
          const bytes = Buffer.byteLength(bodyOf(item, 0))
          holds(
            item.members.length > 0 && item.members.length <= size,
            `${String(item.members.length)} messages`,
          )
          holds(bytes <= maxBatch, `${String(bytes)} bytes`)
          same([item.byteLength, idsInBody(item)], [bytes, idsOf(item)])
        }
      },
    },
    'keeps-order': {
      statement: 'With one request at a time, messages are first sent in the order of their calls.',
      check: ({ calls, accepted }, { concurrency }) => {
        if (concurrency > 1) return
        const firsts = [...new Set(calls.flatMap(({ item }) => idsOf(item)))]
        same(
          firsts,
          accepted.filter((id) => firsts.includes(id)),
        )
      },
    },
    'sends-nothing-after-the-end': {
      statement: 'A message is not sent after its outcome.',
      check: ({ calls, ended }) => {
        for (const { id, sent } of ended)
          holds(
            !calls.slice(sent).some(({ item }) => idsOf(item).includes(id)),
            `${id} was sent after its end`,
          )
      },
    },
    'hands-back': {
      statement: 'close resolves with the messages that were abandoned.',
      check: ({ ended, result }) => {
        const abandoned = ended.filter(({ outcome }) => outcome._tag === 'Abandoned').map(({ id }) => id)
        same(result?.abandoned.map(({ id }) => id).toSorted(), abandoned.toSorted())
      },
      situations: ['Abandoned'],
    },
    flushes: {
      statement: 'A flush resolves, when everything accepted before it has ended.',
      check: ({ flushes, ended }) => {
        for (const { open: asked, endedBy } of flushes) {
          holds(endedBy !== undefined, 'a flush never resolved')
          const isEnded = new Set(ended.slice(0, endedBy).map(({ id }) => id))
          same(
            asked.filter((id) => !isEnded.has(id)),
            [],
          )
        }
      },
      situations: ['a flush with messages'],
    },
    closes: {
      statement: 'close resolves in its time; then nothing runs or starts, and no timer is left.',
      check: ({ calls, closeAsked, closedAt, running, timers }, { closeWithin }) => {
        const late = closedAt - closeAsked - closeWithin - TIMEOUT
        holds(late <= 0, `closed ${String(late)} ms too late`)
        same({ running, timers }, { running: 0, timers: [] })
        for (const { startedAt } of calls) holds(startedAt <= closedAt, 'a request started after the close')
      },
    },
  })
