import * as fc from 'fast-check'
import { it } from 'vitest'
import { refused, retryable, type Verdict, type Payload } from '../../src/index.ts'
import { exponential } from '../../src/policy/index.ts'
import type { Event } from '../../src/event/index.ts'
import { left, right } from 'fp-ts/lib/Either.js'
import { scriptedSink, virtualClock, type ScriptedSink } from '../../src/testing/index.ts'
import { openOver, track } from '../destination/virtual.ts'
import { holds, lawTable, same, type Drawn } from '../support/check.ts'

export type OpenLive = (...given: Required<Parameters<typeof openOver>>) => ReturnType<typeof openOver>

const answer = fc.record({
  how: fc.constantFrom('yes', 'busy', 'busy', 'gone', 'wait'),
  after: fc.constantFrom(0, 1, 20, 90),
  rest: fc.constantFrom(0, 0, 15),
})
const TAKEN: World['answers'][number] = { how: 'yes', after: 0, rest: 0 }

/** Which URLs are in the settings, and whether each is another sink than before. */
const update = fc.record({
  do: fc.constant('update' as const),
  urls: fc.subarray([0, 1, 2], { minLength: 1 }),
  isNew: fc.boolean(),
})
const commands = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constant('send' as const) }) },
    update,
    fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(1, 10, 50, 400) }),
  ),
  { maxLength: 30, size: 'max' },
)
const world = fc.record({
  answers: fc.array(answer, { minLength: 1, maxLength: 6 }),
  commands,
  concurrency: fc.constantFrom(1, 2),
})
type World = Drawn<typeof world>

const verdictOf = (how: World['answers'][number]['how'], now: number): Verdict => {
  if (how === 'yes') return right({ sink: 'url', status: 200 })
  if (how === 'gone') return left(refused('status', { status: 410 }))
  return left(retryable('status', { status: 503, ...(how === 'wait' ? { notBefore: now + 60 } : {}) }))
}

const play = async (open: OpenLive, { answers, commands, concurrency }: World) => {
  const clock = virtualClock()
  const all: Array<ScriptedSink<Payload<Event>>> = []
  let current: ReadonlyArray<ScriptedSink<Payload<Event>>> = []
  const wrong: string[] = []
  const hook = (url: number): ScriptedSink<Payload<Event>> => {
    let asked = 0
    const made: ScriptedSink<Payload<Event>> = scriptedSink<Payload<Event>>({
      name: `url${url}`,
      clock,
      reply: ({ id }) => {
        if (!current.includes(made)) wrong.push(`${id} asks a sink that is gone`)
        const { how, after, rest } = answers[Math.min(asked++ + url, answers.length - 1)] ?? TAKEN
        return { verdict: verdictOf(how, clock.now() + after), after, rest }
      },
    })
    all.push(made)
    return made
  }
  const next = (urls: ReadonlyArray<number>, isNew: boolean) =>
    urls.map((url) => (isNew ? undefined : current.find(({ name }) => name === `url${url}`)) ?? hook(url))
  current = next([0], true)
  const retry = exponential({ base: 20, factor: 1 })
  const options = { clock, concurrency, logger: false as const, retry, timeout: 200, random: () => 0.5 }
  const destination = open(current, options)
  const ended: string[] = []
  destination.outcomes$.subscribe(({ item }) => ended.push(item.id))
  let sent = 0
  for (const command of commands) {
    if (command.do === 'send') void destination.send(track(`m${sent++}`))
    else if (command.do === 'advance') await clock.advance(command.ms)
    else {
      current = next(command.urls, command.isNew)
      destination.change(current, undefined)
    }
    if (command.do !== 'update') await clock.settle()
  }
  // A URL that takes all: no event may be left.
  const before = all.length
  current = [scriptedSink({ name: 'last', clock })]
  destination.change(current, undefined)
  await clock.advance(1_000)
  const cut = all.flatMap(({ calls }) => calls.filter(({ ended }) => ended !== 'completed')).length
  const unclosed = all.slice(0, before).filter(({ closed }) => closed.length === 0).length
  const stats = destination.stats()
  await clock.run(destination.close({ timeout: 0 }))
  if (cut > 0) wrong.push('an attempt was cut')
  return { wrong, ended, sent, unclosed, stats, pending: clock.pending() }
}

export const liveLaws = lawTable(world, play, {
  'L1 an attempt that starts after an update uses the new settings; what is in flight ends by the old': ({
    wrong,
  }) => same(wrong, []),
  'L2 every event has one outcome: a new URL is asked for each that waits': ({ ended, sent, stats }) => {
    same(ended.toSorted(), Array.from({ length: sent }, (_, n) => `m${n}`).toSorted())
    same([stats.accepted, stats.waiting], [sent, 0])
  },
  'L3 a sink that is gone is closed': ({ unclosed, pending }) => {
    same(unclosed, 0)
    holds(pending === 0, 'a timer is left')
  },
})

it('a destination whose settings change keeps its laws', () => fc.assert(liveLaws.all(openOver)))
