import { isRight, left, right } from 'fp-ts/lib/Either.js'
import { expect } from 'vitest'
import type { Client } from '../../src/client/Client.ts'
import { createClient } from '../../src/client/createClient.ts'
import type { CallType, MessageBatch } from '../../src/client/Message.ts'
import { refused, retryable } from '../../src/core/failure.ts'
import { both, deadline, exponential } from '../../src/policy/retryPolicy.ts'
import { scriptedSink } from '../../src/testing/scriptedSink.ts'
import type { Reply } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { model } from '../laws/clientModel.ts'
import type { Seen } from '../laws/clientSeen.ts'
import { callOf } from './calls.ts'
import { BACKOFF, FLUSH_AFTER, LATENCY, TIMEOUT } from './commands.ts'
import type { Mode, Program } from './commands.ts'
import type { OpenClient } from './world.ts'

const MAX_MESSAGE = 800

const replies: Readonly<Record<Mode, Reply>> = {
  ok: { verdict: right({ sink: 'scripted' }), after: LATENCY },
  busy: { verdict: left(retryable('status', { status: 503 })), after: LATENCY },
  gone: { verdict: left(refused('status', { status: 410 })), after: LATENCY },
  hang: {},
}

const idOf = (n: number): string => `m${String(n).padStart(4, '0')}`

/** The bytes of a message, measured once for each kind. */
const still = virtualClock()
const probe = createClient('a key', {
  sink: scriptedSink({ clock: still, reply: () => ({}) }),
  clock: still,
  drainOnExit: false,
})
const sizes = new Map<string, number>()
const bytesOf = (kind: CallType, pad: number): number => {
  const known = sizes.get(`${kind} ${String(pad)}`)
  if (known !== undefined) return known
  const before = probe.stats().bytes
  expect(isRight(probe.send(callOf(idOf(0), { kind, user: 'u', size: pad })))).toBe(true)
  sizes.set(`${kind} ${String(pad)}`, probe.stats().bytes - before)
  return probe.stats().bytes - before
}

/** Plays a program to a client and to the model, and compares them after each command. Answers what was seen of both. */
export const playProgram = async (
  { setting, commands }: Program,
  openClient: OpenClient,
  reached: Map<string, number>,
): Promise<[Seen, Seen]> => {
  const clock = virtualClock()
  const wanted = model(setting)
  const outcomes: string[] = []
  const flushes: string[] = []
  let mode: Mode = 'ok'
  let sent = 0
  let reactions = 0
  let waitsForRoom = false
  let closedAt: number | undefined

  const sink = scriptedSink<MessageBatch>({ clock, reply: () => replies[mode] })
  const { within, ...limits } = setting
  const client: Client = openClient('a key', {
    ...limits,
    sink,
    clock,
    logger: false,
    flushAfter: FLUSH_AFTER,
    timeout: TIMEOUT,
    maxMessage: MAX_MESSAGE,
    retry: both(exponential({ base: BACKOFF, factor: 1 }), deadline(within)),
  })
  const note = (what: string): void => {
    reached.set(what, (reached.get(what) ?? 0) + 1)
  }

  const track = (kind: CallType, pad: number): string => {
    const answer = client.send(callOf(idOf(sent++), { kind, user: 'u', size: pad }))
    const said = isRight(answer) ? 'Accepted' : answer.left._tag
    note(said)
    return said
  }
  client.outcomes$.subscribe((outcome) => {
    const tag = outcome._tag.toLowerCase()
    note(tag)
    outcomes.push(`${String(clock.monotonic())} ${tag} ${outcome.item.id} ${String(outcome.attempts)}`)
    if (reactions-- > 0) track('track', 1)
  })

  let modelled = 0
  const modelTrack = (kind: CallType, pad: number): string =>
    wanted.track(idOf(modelled++), bytesOf(kind, pad))

  const look = async (): Promise<void> => {
    // Who waits for room is let through turn by turn.
    for (let turn = 0; turn < 3; turn++) await clock.settle()
    const {
      accepted,
      delivered,
      rejected,
      expired,
      dropped,
      abandoned,
      waiting,
      bytes,
      refused: no,
      batches,
    } = client.stats()
    expect({
      accepted,
      delivered,
      rejected,
      expired,
      dropped,
      abandoned,
      waiting,
      bytes,
      refused: no,
      batches,
    }).toEqual(wanted.seen().stats)
    if (waitsForRoom) expect(wanted.hasRoom()).toBe(false)
  }

  for (const command of commands) {
    switch (command.do) {
      case 'track':
        for (let n = 0; n < command.times; n++)
          expect(track(command.kind, command.pad)).toBe(modelTrack(command.kind, command.pad))
        break
      case 'tick':
        await clock.advance(command.ms)
        wanted.tick(command.ms)
        break
      case 'server':
        mode = command.mode
        wanted.server(mode)
        break
      case 'flush': {
        const index = flushes.length
        flushes.length++
        const { timeout } = command
        void client.flush(timeout === undefined ? {} : { timeout }).then((totals) => {
          flushes[index] = `${String(clock.monotonic())} ${JSON.stringify(totals)}`
        })
        wanted.flush(timeout)
        break
      }
      case 'ready':
        if (waitsForRoom) break
        waitsForRoom = true
        void client.ready().then(() => {
          waitsForRoom = false
          note('ready')
        })
        break
      case 'react':
        reactions = command.times
        wanted.react(command.times, () => {
          modelTrack('track', 1)
        })
        break
      case 'close':
        void client.close({ timeout: command.timeout }).then(() => {
          closedAt = clock.monotonic()
        })
        await clock.settle()
        wanted.close(command.timeout)
    }
    await look()
    if (command.do === 'ready' && !wanted.hasRoom()) expect(waitsForRoom).toBe(true)
  }
  await clock.advance(100_000)
  wanted.tick(100_000)
  await look()
  expect(clock.pending()).toBe(0)
  const requests = sink.calls.map(
    ({ startedAt, item }) => `${String(startedAt)} ${item.members.map(({ id }) => id).join()}`,
  )
  return [{ outcomes, requests, flushes, stats: {}, closedAt }, wanted.seen()]
}
