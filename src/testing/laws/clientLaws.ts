import * as fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { map, tap } from 'rxjs'
import type { Client } from '../../client/client.ts'
import type { Message, SentBatch } from '../../client/message.ts'
import type { ClientOptions } from '../../client/options.ts'
import { memberVerdicts, type Verdict } from '../../core/failure.ts'
import { type Outcome, counters, type Totals } from '../../core/outcome.ts'
import { bodyOf } from '../../event/payload.ts'
import { healthy, type Misbehaviour } from '../faults.ts'
import { scriptedSink } from '../scriptedSink.ts'
import { makeWorld } from '../simulate.ts'
import { holds, same, lawsOver, type Drawn, type Law, type Run } from './law.ts'
import { PARTLY, anyMembers, anyScript, partly } from './sinkWorld.ts'

/** Makes the client under test: `createClient` gets these options. Their `sink` is the endpoint. @inline */
export type OpenClient = (options: ClientOptions) => Client

/** A flush for null; else a call with an event of this length (0: invalid). `gap`: ms after the last act. */
const act = fc.record({
  gap: fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 60, 2_000, 6_000),
  length: fc.constantFrom(1, 1, 1, 40, 40, 300, 300, 0, null),
  method: fc.constantFrom('track', 'track', 'identify', 'page', 'screen', 'group', 'alias'),
})
const clientRun = fc.record({
  seed: fc.nat(),
  script: anyScript,
  acts: fc.array(act, { minLength: 1, maxLength: 40, size: 'max' }),
  limits: fc.record({
    size: fc.constantFrom(1, 3, 20),
    maxBatchBytes: fc.constantFrom(1_500, 500_000),
    concurrency: fc.constantFrom(1, 1, 2),
  }),
  closeWithin: fc.constantFrom(0, 1_000, 60_000),
  members: anyMembers,
})

/** A flush has the messages that it must wait for. */
interface ClientEvent {
  readonly what: 'accepted' | 'sent' | 'taken' | 'refused' | 'ended' | 'flush' | 'flushed' | 'closed'
  readonly ids: ReadonlyArray<string>
}

const CLIENT_TIMEOUT = 1_000
/** Longer than the default retry policy goes on. */
const RUN_LIMIT = 6 * 3_600_000

const idOfMessage = ({ id }: Message): string => id
const idsOf = (happened: ReadonlyArray<ClientEvent>, what: ClientEvent['what']): ReadonlyArray<string> =>
  happened.filter((each) => each.what === what).flatMap(({ ids }) => ids)

const playClient = async (open: OpenClient, given: Drawn<typeof clientRun>, { reach, log }: Run) => {
  const world = makeWorld(given.seed, {}, log)
  const { clock, random } = world
  const happened: ClientEvent[] = []
  const ended: Array<{ readonly outcome: Outcome<Message>; readonly totals: Totals }> = []
  const note = (what: ClientEvent['what'], ids: ReadonlyArray<string>): void => {
    happened.push({ what, ids })
    world.log(`${what} ${ids.join()}`)
  }
  const fails = (error: unknown): void => world.log(`fails with ${String(error)}`)
  const script = ({ members }: SentBatch, n: number): Misbehaviour => {
    note('sent', members.map(idOfMessage))
    return given.script[n] ?? healthy
  }
  const sink = scriptedSink({ clock, script })
  const deliver: typeof sink.deliver = (batch, attempt) => {
    const answered = (verdict: Verdict): void => {
      const all = isLeft(verdict) ? memberVerdicts(verdict.left, batch.members.length) : undefined
      for (const [at, { id }] of batch.members.entries())
        note(isRight(all?.[at] ?? verdict) ? 'taken' : 'refused', [id])
    }
    const unsettled = batch.members.map(() => undefined)
    const some = partly(unsettled, given.members, sink.calls.length, reach)
    return sink.deliver(batch, attempt).pipe(map(some), tap(answered))
  }
  const parts = { sink: { ...sink, deliver }, clock, random, logger: false } as const
  const limits = { timeout: CLIENT_TIMEOUT, maxMessageBytes: 700, ...given.limits }
  const client = open({ ...parts, ...limits, drainOnExit: false })
  const next = (outcome: Outcome<Message>): void => {
    ended.push({ outcome, totals: client.stats() })
    note('ended', [outcome.item.id])
    reach(outcome._tag)
  }
  client.outcomes$.subscribe({ next, error: fails })

  for (const [n, { gap, length, method }] of given.acts.entries()) {
    if (gap > 0) await clock.advance(gap)
    if (length === null) {
      const over = idsOf(happened, 'ended')
      const open = idsOf(happened, 'accepted').filter((id) => !over.includes(id))
      if (open.length > 0) reach('a flush with messages')
      note('flush', open)
      client.flush().then(() => note('flushed', open), fails)
    } else {
      const text = 'x'.repeat(length)
      const fields = { event: text, name: text, groupId: text, previousId: text, traits: { text } }
      const answer = client[method]({ userId: 'u', messageId: `m${String(n)}`, ...fields })
      if (answer._tag === 'Right') note('accepted', [answer.right.id])
    }
  }
  const closeAsked = clock.monotonic()
  const result = await clock.run(client.close({ timeout: given.closeWithin }), { timeout: RUN_LIMIT })
  note('closed', [])
  const closeTook = clock.monotonic() - closeAsked
  const stats = client.stats()
  const left = { running: sink.running(), timers: clock.timers().map(({ name }) => name) }
  await clock.advance(RUN_LIMIT)
  return { happened, ended, batches: sink.calls.map(({ item }) => item), result, stats, closeTook, left }
}

/** The laws of a client of yours that is built on `createClient`: a façade, a subclass, your defaults. */
export const clientLaws = (open: OpenClient): ReadonlyArray<Law> =>
  lawsOver('client', clientRun, (given, run) => playClient(open, given, run), {
    'ends-once': {
      statement: 'Each accepted call ends once, at the latest in the close, and is not sent after that.',
      check: ({ happened }) => {
        same(idsOf(happened, 'ended').toSorted(), idsOf(happened, 'accepted').toSorted())
        for (const [n, { what, ids }] of happened.entries()) {
          const isSent = idsOf(happened.slice(n), 'sent').includes(ids.join())
          holds(what !== 'ended' || !isSent, `${ids.join()} is sent`)
        }
      },
      situations: ['Delivered', 'Rejected', 'Abandoned', PARTLY],
    },
    'tells-the-truth': {
      statement: 'Only what the endpoint took is delivered, and only what it refused is rejected.',
      check: ({ happened, ended }) => {
        const answers = happened.filter(({ what }) => what === 'taken' || what === 'refused')
        for (const { outcome } of ended) {
          const last = answers.findLast(({ ids }) => ids.includes(outcome.item.id))?.what
          if (outcome._tag === 'Delivered') same(last, 'taken')
          if (outcome._tag === 'Rejected') same(last, 'refused')
        }
      },
      situations: ['Delivered', 'Rejected', PARTLY],
    },
    'adds-up': {
      statement: 'The totals add up inside each callback, and agree with the outcomes in the end.',
      check: ({ happened, ended, result, stats }) => {
        const expected = counters(idsOf(happened, 'accepted').length)
        for (const { outcome, totals } of ended) {
          const { accepted, delivered, rejected, expired, dropped, abandoned, waiting } = totals
          same(accepted - waiting, delivered + rejected + expired + dropped + abandoned)
          expected.end(outcome)
        }
        same(result.totals, expected.totals())
        same(stats, { ...stats, ...result.totals })
      },
      situations: ['Delivered', 'Rejected'],
    },
    'keeps-limits': {
      statement: 'A batch has at most the messages and bytes that are allowed, and its body is what it says.',
      check: ({ batches }, { limits: { size, maxBatchBytes } }) => {
        for (const batch of batches) {
          const [n, body] = [batch.members.length, bodyOf(batch, 0)]
          holds(n > 0 && n <= size && batch.byteLength <= maxBatchBytes, `${String(n)} in ${body}`)
          same(Buffer.byteLength(body), batch.byteLength)
          const members = batch.members.map(({ text }) => text).join()
          holds(body.startsWith(`{"batch":[${members}],`), `${body} does not hold ${members}`)
        }
      },
    },
    'keeps-order': {
      statement: 'With one request at a time, messages are first sent in the order of their calls.',
      check: ({ happened }, { limits: { concurrency } }) => {
        const sent = [...new Set(idsOf(happened, 'sent'))]
        const accepted = idsOf(happened, 'accepted').filter((id) => sent.includes(id))
        if (concurrency === 1) same(sent, accepted)
      },
    },
    flushes: {
      statement: 'A flush resolves, when everything accepted before it has ended.',
      check: ({ happened }) => {
        const count = (name: string): number => happened.filter(({ what }) => what === name).length
        same(count('flushed'), count('flush'))
        for (const [n, { what, ids }] of happened.entries()) {
          const over = idsOf(happened.slice(0, n), 'ended')
          holds(what !== 'flushed' || ids.every((id) => over.includes(id)), 'a flush resolved early')
        }
      },
      situations: ['a flush with messages'],
    },
    closes: {
      statement: 'close resolves in time with the abandoned messages; then nothing runs, no timer is left.',
      check: ({ happened, ended, result, closeTook, left }, { closeWithin }) => {
        holds(closeTook <= closeWithin + CLIENT_TIMEOUT, `the close took ${String(closeTook)} ms`)
        const after = happened.slice(happened.findIndex(({ what }) => what === 'closed'))
        same({ ...left, sent: idsOf(after, 'sent') }, { running: 0, timers: [], sent: [] })
        const ids = ended.flatMap(({ outcome: { _tag, item } }) => (_tag === 'Abandoned' ? item.id : []))
        same(result.abandoned.map(idOfMessage).toSorted(), ids.toSorted())
      },
      situations: ['Abandoned'],
    },
  })
