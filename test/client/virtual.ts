/** A client on a virtual clock, whose requests go to a scripted sink: everything but HTTP is what hosts get. */
import { left, right } from 'fp-ts/lib/Either.js'
import { createClient, type ClientOptions, type Message, type SentBatch } from '../../src/client/index.ts'
import { retryable, type Outcome, type Verdict } from '../../src/index.ts'
import { exponential } from '../../src/policy/index.ts'
import type { LogEvent } from '../../src/log/index.ts'
import { scriptedSink, type Reply, virtualClock, type VirtualClock } from '../../src/testing/index.ts'

export const yes: Verdict = right({ sink: 'scripted', status: 200 })
export const busy: Verdict = left(retryable('status', { status: 503 }))

/** A call of `track` with an id. */
export const event = (messageId: string, userId = 'u') => ({ messageId, userId, event: 'Seen' })

export const anything = (value: unknown): never => value as never

export const many = (count: number) => Array.from({ length: count }, (_, n) => `m${String(n)}`)

/** Ends the turn: what the calls before it cause has started then. */
export const turn = (): Promise<void> => Promise.resolve()

export type Answer = (batch: SentBatch, number: number, index: number) => Reply

type Options = ClientOptions | ((clock: VirtualClock) => ClientOptions)
export const open = (options: Options = {}, answer: Answer = () => ({ verdict: yes })) => {
  const clock = virtualClock()
  const outcomes: Array<Outcome<Message>> = []
  const told: LogEvent[] = []
  const sink = scriptedSink<SentBatch>({
    clock,
    reply: (batch, { number }, index) => answer(batch, number, index),
  })
  const client = createClient('a key', {
    clock,
    sink,
    random: () => 0,
    logger: false,
    drainOnExit: false,
    retry: exponential(),
    onEvent: (happening) => told.push(happening),
    ...(typeof options === 'function' ? options(clock) : options),
  })
  client.outcomes$.subscribe((outcome) => outcomes.push(outcome))
  return {
    clock,
    client,
    sink,
    outcomes,
    told,
    /** When each request started, and the ids in it: `0 a,b`. */
    requests: () =>
      sink.calls.map(({ startedAt, item }) => `${startedAt} ${item.members.map(({ id }) => id).join()}`),
    ended: () => outcomes.map(({ _tag, item }) => `${_tag} ${item.id}`),
    defects: () => told.flatMap((happening) => (happening._tag === 'Defect' ? [happening.where] : [])),
  }
}

export type World = ReturnType<typeof open>
