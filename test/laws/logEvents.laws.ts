/** The laws of log events: each thing that happens is told once, and the counts by events are those of `stats`. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { firstValueFrom, from, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { deliver, encode, failover, firstSuccess, mapRight, refused, retryable } from '../../src/index.ts'
import { splitRight, toAll, validate, withConcurrency, withObserver, withTimeout } from '../../src/index.ts'
import { type Payload, type Sink, sink, type Totals } from '../../src/index.ts'
import { createClient } from '../../src/client/createClient.ts'
import { show } from '../../src/core/failure.ts'
import { storedEvents } from '../../src/destination/record.ts'
import type { Event, TrackCall } from '../../src/event/index.ts'
import type { LogEvent } from '../../src/log/index.ts'
import { lmdbOutbox } from '../../src/outbox/lmdb/index.ts'
import { both, exponential, limitRetries } from '../../src/policy/index.ts'
import { openOver, track } from '../destination/virtual.ts'
import { newFolder } from '../support/folder.ts'
import { forAllAsync, type Drawn } from '../support/check.ts'

type Answer = 'ok' | 'refuse' | 'once' | 'busy'
const answer = fc.constantFrom<Answer>('ok', 'ok', 'refuse', 'once', 'busy')
/** `restart` leaves some records that cannot be read. */
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('send' as const), answer }) },
  fc.constantFrom({ do: 'refused' as const }, { do: 'idle' as const }, { do: 'redrive' as const }),
  fc.record({ do: fc.constant('restart' as const), corrupt: fc.nat(2) }),
)

/** One life of a process over the store: what it told, what it counted, and what its sinks were asked. */
interface Life {
  readonly told: LogEvent[]
  readonly asked: string[]
  totals?: Totals & { readonly refused: number }
}

const retry = both(exponential({ base: 1 }), limitRetries(2))
const NOTHING = { accepted: 0, delivered: 0, rejected: 0, expired: 0, dropped: 0, abandoned: 0, refused: 0 }
const SLOTS = { Delivered: 'delivered', Rejected: 'rejected', Expired: 'expired' } as const

export const countsOf = (told: ReadonlyArray<LogEvent>): typeof NOTHING => {
  const counts = { ...NOTHING }
  for (const event of told) {
    if (event._tag === 'Accepted') counts.accepted++
    if (event._tag === 'Restored') counts.accepted += event.count
    if (event._tag === 'Redriven') counts.accepted += event.ids.length
    if (event._tag === 'Corrupt') counts.rejected++
    if (event._tag === 'NotAccepted') counts.refused++
    if (event._tag !== 'Ended') continue
    const { _tag } = event.outcome
    counts[_tag === 'Dropped' ? 'dropped' : _tag === 'Abandoned' ? 'abandoned' : SLOTS[_tag]]++
  }
  return counts
}

const attemptsIn = (told: ReadonlyArray<LogEvent>): ReadonlyArray<string> =>
  told.flatMap((each) => (each._tag === 'Attempted' ? [`${each.sink} ${String(each.number)}`] : []))

const attemptsLost = ({ told, asked }: Life) => attemptsIn(told).toSorted().join() !== asked.toSorted().join()

const play = async (steps: ReadonlyArray<Drawn<typeof step>>) => {
  const path = newFolder()
  const lives: Life[] = []
  const answers = new Map<string, Answer>()
  const start = () => {
    const name = `life ${String(lives.length)}`
    const life: Life = { told: [], asked: [] }
    lives.push(life)
    const url = (at: number): Sink<Payload<Event>> =>
      sink(`url${String(at)}`, async ({ id }, { attempt: { number } }) => {
        life.asked.push(`url${String(at)} ${String(number)}`)
        const how = answers.get(id)
        await Promise.resolve()
        if (how === 'refuse') return left(refused('status'))
        return how === 'busy' || (how === 'once' && number === 1) ? left(retryable('status')) : undefined
      })
    const onEvent = (event: LogEvent) => life.told.push(event)
    const options = { name, outbox: { path }, retry, onEvent, logger: false } as const
    return { life, made: openOver([url(0), url(1)], options) }
  }
  let now = start()
  const end = async (): Promise<void> => {
    await now.made.idle()
    await now.made.close()
    now.life.totals = now.made.stats()
  }
  for (const [at, each] of steps.entries())
    if (each.do === 'send') {
      answers.set(`m${String(at)}`, each.answer)
      await now.made.send(track(`m${String(at)}`))
    } else if (each.do === 'refused') await now.made.send({ type: 'track' } as TrackCall)
    else if (each.do === 'idle') await now.made.idle()
    else if (each.do === 'redrive') await now.made.redrive(() => true)
    else {
      await end()
      const bad = lmdbOutbox({ path, codec: { ...storedEvents, toText: () => 'no' } })
      for (let more = each.corrupt; more > 0; more--)
        await bad.enqueue([{ id: 'x', items: [], text: '', byteLength: 0 } as unknown as Payload<Event>])
      await bad.close()
      now = start()
    }
  await end()
  return lives
}

const agrees = ({ told, totals }: Life): boolean => {
  const counts = countsOf(told)
  const keys = Object.keys(NOTHING) as ReadonlyArray<keyof typeof NOTHING>
  return keys.every((key) => totals?.[key] === counts[key])
}

describe('log events', () => {
  it('count as stats does and come in order of time, through redrive, restart, corrupt records and refusals', () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
        for (const [at, life] of (await play(steps)).entries()) {
          expect([agrees(life), attemptsLost(life)]).toEqual([true, false])
          expect(life.told.every((event) => event.from === `life ${String(at)}`)).toBe(true)
          const times = life.told.map((event) => event.at)
          expect(times).toEqual(times.toSorted((one, other) => one - other))
        }
      }),
      { numRuns: 15 },
    ))

  it('do not, if one kind is not told', async () => {
    const sent = (['ok', 'refuse', 'busy'] as const).map((how) => ({ do: 'send' as const, answer: how }))
    const more = (['refused', 'idle', 'redrive'] as const).map((what) => ({ do: what }))
    const lives = await play([...sent, ...more, { do: 'restart', corrupt: 1 }, ...sent.slice(0, 1)])
    expect(lives.every(agrees)).toBe(true)
    for (const tag of ['Accepted', 'Restored', 'Redriven', 'Corrupt', 'NotAccepted', 'Ended'] as const) {
      const without = lives.map((life) => ({ ...life, told: life.told.filter((each) => each._tag !== tag) }))
      expect([tag, without.every(agrees)]).toEqual([tag, false])
    }
    const unheard = lives.map(({ told, ...life }) => ({ ...life, told: told.slice(0, 3) }))
    expect(unheard.some(attemptsLost)).toBe(true)
  })

  it('tell each attempt that a close cut, and none that had not started', async () => {
    const asked: string[] = []
    const told: LogEvent[] = []
    const onEvent = (event: LogEvent): number => told.push(event)
    const options = { onEvent, logger: false } as const
    const silent = (name: string) =>
      sink<unknown>(name, (_, { attempt: { number } }) => {
        asked.push(`${name} ${String(number)}`)
        return new Promise(() => undefined)
      })
    const url = (name: string) => withConcurrency({ concurrency: 2 })(silent(name))
    const destination = openOver([url('a'), url('b')], options)
    const client = createClient('wk', { ...options, sink: silent('c'), flushAt: 2 })
    for (const id of ['1', '2', '3']) {
      await destination.send(track(id))
      client.track({ userId: 'u', event: 'e', messageId: id })
    }
    const sinks = [silent('d'), firstSuccess([silent('e'), url('f')]), withObserver({ onEvent })(silent('g'))]
    const stopping = sinks.map((each) =>
      from([right('x')])
        .pipe(deliver(each, { onEvent }))
        .subscribe(),
    )
    await new Promise(setImmediate)
    await Promise.all([destination.close({ timeout: 0 }), client.close({ timeout: 0 })])
    for (const each of stopping) each.unsubscribe()
    expect(asked).toHaveLength(2 + 2 + 1 + 4)
    // `withObserver` tells its listener, and the part hears it too.
    expect(attemptsIn(told).toSorted()).toEqual([...asked, 'g 1'].toSorted())
    const reasons = told.flatMap((each) =>
      each._tag === 'Attempted' && each.result._tag === 'Left' ? [show(each.result.left)] : [],
    )
    const cut = 'cut, it was cancelled before its answer; it may have arrived'
    expect(new Set(reasons)).toEqual(new Set([cut]))
  })

  it('name each ended item of a pipeline once, and each attempt of its sinks', () => {
    const layers = {
      timeout: withTimeout({ timeout: 9_000 }),
      concurrency: withConcurrency({ concurrency: 2 }),
      observer: withObserver({ onEvent: () => undefined }),
    }
    const wrap = fc.array(fc.constantFrom(...Object.values(layers)), { maxLength: 3 })
    const members = fc.constantFrom(firstSuccess, failover, toAll, undefined)
    const item = fc.constantFrom<unknown>('ok', 'once', 'busy', 'refuse', 'none', 'throws', 'big', 7)
    return forAllAsync(fc.array(item), members, wrap, wrap, async (items, together, inside, outside) => {
      const asked: string[] = []
      const told: LogEvent[] = []
      const one = (name: string): Sink<Payload<string>> =>
        inside.reduce(
          (around, layer) => layer(around),
          sink(name, async ({ text = '' }: Payload<string>, { attempt: { number } }) => {
            asked.push(`${name} ${String(number)}`)
            await Promise.resolve()
            if (text.includes('refuse')) return left(refused('status'))
            const isBusy = text.includes('busy') || (text.includes('once') && number === 1)
            return isBusy ? left(retryable('status')) : undefined
          }),
        )
      const all = together === undefined ? one('a') : together([one('a'), one('b')])
      const to = outside.reduce((around, layer) => layer(around), all)
      const ended = await firstValueFrom(
        from(items).pipe(
          validate(t.string),
          mapRight((text) => (text === 'throws' ? (JSON.parse(text) as string) : text)),
          splitRight((text) => (text === 'none' ? [] : [text])),
          encode((text) => ({ text, more: text === 'big' ? 'x'.repeat(99) : '' }), { maxBytes: 60 }),
          deliver(to, { retry, onEvent: (event) => told.push(event) }),
          toArray(),
        ),
        { defaultValue: [] },
      )
      const kinds = told.flatMap((event) => {
        if (event._tag === 'NotAccepted') return [event.refusal._tag]
        if (event._tag === 'Ended') return [event.outcome._tag]
        return event._tag === 'Skipped' ? ['Skipped'] : []
      })
      expect(kinds.toSorted()).toEqual(ended.map(({ _tag }) => _tag).toSorted())
      expect(attemptsLost({ told, asked })).toBe(false)
    })
  })
})
