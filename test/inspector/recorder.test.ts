import { left, right } from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { retryable } from '../../src/core/failure.ts'
import { counters, delivered, rejected } from '../../src/core/outcome.ts'
import { percentile, recorder } from '../../src/inspector/recorder.ts'
import { inOneLine, storyOf } from '../../src/inspector/story.ts'
import type { LogEvent } from '../../src/log/logEvent.ts'
import { forAll } from '../support/check.ts'

const { totals } = counters()
const stats = { ...totals(), refused: 0 }
const itemOf = (n: number) => ({ id: `m${n}`, text: '{"version":1,"type":"track"}', byteLength: 28 })
const told = { at: 0, from: 'orders' }
const busy = retryable('status', { status: 503 })
type Result = (LogEvent & { _tag: 'Attempted' })['result']
const attempt = (item: unknown, at: number, duration: number, result: Result, sink = 'a'): LogEvent => {
  const startedAt = at - duration
  return { ...told, _tag: 'Attempted', at, item, sink, number: 1, startedAt, duration, result }
}

type Kind = 'accept' | 'fail' | 'wait' | 'end' | 'die' | 'skip'
const eventOf = (kind: Kind, n: number, at: number): LogEvent => {
  const item = itemOf(n)
  const events: Readonly<Record<Kind, LogEvent>> = {
    accept: { ...told, _tag: 'Accepted', at, item },
    fail: attempt(item, at, 5, left(busy), `sink${n}`),
    wait: { ...told, _tag: 'Waiting', at, item, attempts: 1, failure: busy, delay: 7, because: 'because' },
    skip: { ...told, _tag: 'UrlSkipped', at, item, sink: 'full', number: 1 },
    end: { ...told, _tag: 'Ended', at, outcome: delivered(item, 1, { sink: 'a' }) },
    die: { ...told, _tag: 'Ended', at, outcome: rejected(item, 1, busy) },
  }
  return events[kind]
}
const kinds = fc.constantFrom<Kind>('accept', 'fail', 'wait', 'end', 'die', 'skip')
const events = fc.array(fc.tuple(kinds, fc.nat(200), fc.nat(400)), { maxLength: 300 })

it('stays in its bounds, and gives up ended events before waiting ones', () =>
  forAll(events, (list) => {
    let at = 1e12
    const memory = recorder(10, 'first', () => at)
    const waiting = new Set<string>()
    for (const [kind, n, later] of list) {
      memory.onEvent(eventOf(kind, n, (at += later)))
      if (kind === 'end' || kind === 'die') waiting.delete(`m${n}`)
      else if (memory.history(`m${n}`)?.state === 'Waiting') waiting.add(`m${n}`)
      expect(memory.histories()).toBeLessThanOrEqual(10)
      // With ten or fewer waiting ones, all of them are known.
      if (waiting.size > 10) waiting.delete([...waiting][0] ?? '')
      for (const id of waiting) expect(memory.history(id)?.state).toBe('Waiting')
      expect(memory.history(`m${n}`)?.count ?? 0).toBeLessThanOrEqual(12)
    }
    const shown = memory.snapshot(stats)
    expect(shown.sinks.length).toBeLessThanOrEqual(64)
    expect(JSON.stringify(shown).length).toBeLessThan(30_000)
  }))

it('tells every attempt between accepted and ended, or how many steps it left out', () =>
  forAll(fc.nat(12), fc.boolean(), (failures, isBatch) => {
    const memory = recorder(10, 'first')
    const item = isBatch ? { id: 'b', members: [itemOf(1), itemOf(2)] } : itemOf(1)
    memory.onEvent(eventOf('accept', 1, 100))
    for (let n = 0; n < failures; n++) {
      memory.onEvent(attempt(item, 100 + n, 1, left(busy)))
      memory.onEvent({ ...eventOf('wait', 1, 101 + n), item } as LogEvent)
    }
    memory.onEvent(attempt(item, 200, 3.2, right({ sink: 'a', status: 200 })))
    memory.onEvent(eventOf('end', 1, 201))
    const history = memory.history('m1')
    if (history === undefined) throw new Error('not known')
    expect(history).toMatchObject({ type: 'track', bytes: 28, requests: failures + 1, state: 'Delivered' })
    expect(history.count + history.omitted).toBe(2 * failures + 3)
    const { steps } = storyOf(history)
    expect([steps[0], ...steps.slice(-2)]).toEqual([
      { at: 100, kind: 'accepted', text: 'accepted' },
      { at: 196.8, kind: 'taken', text: '200 after 3 ms from a' },
      { at: 201, kind: 'ended', text: 'delivered after 1 attempt' },
    ])
    expect(steps.some(({ text }) => text === `steps left out: ${history.omitted}`)).toBe(failures > 4)
    const [counted] = memory.snapshot(stats).sinks
    expect(counted).toMatchObject({ name: 'a', taken: 1, failed: failures, firstWins: 1 })
    if (isBatch && failures > 0)
      expect(storyOf(memory.history('m2') ?? history).steps[0]?.text).toContain('not known')
  }))

it('counts all events of a busy second, and tells of the first 1,000 and of those that fail', () => {
  let at = 1e12
  const memory = recorder(2_000, 'first', () => at)
  const all = Array.from({ length: 1_200 }, (_, n) => n)
  for (const n of all) memory.onEvent(eventOf('accept', n, at))
  expect(memory.histories()).toBe(1_000)
  for (const n of all) memory.onEvent(eventOf('end', n, at))
  memory.onEvent(attempt(itemOf(1_300), at, 1, right({ sink: 'a' })))
  expect([memory.histories(), memory.history('m999')?.state]).toEqual([1_000, 'Delivered'])
  for (const kind of ['fail', 'wait', 'fail'] as const) memory.onEvent(eventOf(kind, 1_400, at))
  memory.onEvent(eventOf('die', 1_500, at))
  memory.onEvent(eventOf('end', 1_600, at))
  const [failed, dead, delivered] = ['m1400', 'm1500', 'm1600'].map(memory.history)
  expect([failed?.requests, dead?.state, delivered]).toEqual([1, 'Rejected', undefined])
  at += 1_000
  expect(memory.snapshot(stats).series.map((counts) => counts.at(-1))).toEqual([1_200, 1_201, 2])
})

it('begins no story by an answer that comes after the story has ended and gone', () => {
  const { onEvent, history, snapshot } = recorder(1, 'first')
  for (const n of [1, 2]) for (const kind of ['accept', 'end'] as const) onEvent(eventOf(kind, n, n))
  onEvent(attempt(itemOf(1), 3, 1, right({ sink: 'a', status: 200 })))
  for (const kind of ['fail', 'skip'] as const) onEvent(eventOf(kind, 1, 3))
  expect([history('m1'), snapshot(stats).waiting]).toEqual([undefined, []])
})

it('goes on with the story of a dead letter that is redriven, and shows its last failure', () => {
  const { onEvent, history, snapshot } = recorder(10, 'first')
  for (const kind of ['accept', 'fail', 'die', 'fail', 'wait'] as const) onEvent(eventOf(kind, 1, 0))
  const [line] = [history('m1')].flatMap((story) => story && inOneLine(story))
  expect(line).toMatch(/; rejected after 1 attempt: .*; redriven; .*; waits 7 ms: because$/)
  expect(snapshot(stats)).toMatchObject({ waiting: [{ id: 'm1', last: 'sink1: status 503' }], ended: [] })
  onEvent(eventOf('end', 1, 9))
  expect(snapshot(stats)).toMatchObject({ name: 'orders', waiting: [], ended: [{ state: 'Delivered' }] })
})

it('counts items without a string id, and tells no story of them; names each receiver by itself', () => {
  const { onEvent, histories, snapshot } = recorder(10, 'first', () => 9)
  onEvent({ ...told, _tag: 'Accepted', item: { id: 7 } })
  onEvent(attempt(7, 5, 1, left(busy)))
  onEvent({ ...told, _tag: 'Ended', outcome: rejected({ id: 7 }, 1, busy) })
  const why = ['a is failing, last failure: status 503']
  expect([histories(), snapshot(stats)]).toMatchObject([0, { sinks: [{ failed: 1 }], ended: [], why }])
  const sinks = ['http://127.0.0.1:7/', 'http://localhost:7/', 'https://b.example/', 'http://b.example']
  for (const sink of sinks) onEvent(attempt(7, 5, 1, right({ sink }), sink))
  expect(snapshot(stats).sinks.map(({ name }) => name)).toEqual(['a', ':7', sinks[1], 'b.example', sinks[3]])
})

const durations = fc.array(fc.nat(1e6), { minLength: 1, maxLength: 256 })
const shares = fc.double({ min: 0.01, max: 1, noNaN: true })
it('takes percentiles by the nearest rank', () =>
  forAll(durations, shares, (given, share) => {
    const sorted = Float64Array.from(given).sort()
    const value = percentile(sorted, share) ?? NaN
    expect(sorted.filter((each) => each <= value).length).toBeGreaterThanOrEqual(share * sorted.length)
    expect(sorted.filter((each) => each < value).length).toBeLessThan(share * sorted.length)
    const memory = recorder(1, 'first')
    for (const duration of given) memory.onEvent(attempt(itemOf(1), 1, duration, right({ sink: 'a' })))
    expect(memory.snapshot(stats).sinks[0]?.p95).toBe(percentile(sorted, 0.95))
  }))

it.each<[string, ReadonlyArray<Kind>]>([
  ['Idle', []],
  ['Waiting', ['accept']],
  ['Delivering', ['accept', 'end']],
  ['Degraded', ['end', 'fail']],
  ['Degraded', ['end', 'die']],
  ['Failing', ['fail']],
])('says %s after %j, and counts them for a minute', (word, list) => {
  let at = 1e12
  const memory = recorder(10, 'first', () => at)
  for (const kind of list) memory.onEvent(eventOf(kind, 1, at))
  const waiting = word === 'Waiting' ? 1 : 0
  expect(memory.snapshot({ ...stats, waiting }).word).toBe(word)
  at += 59_000
  const { word: later, series } = memory.snapshot({ ...stats, waiting })
  expect([later, series[1]?.[118 - 58]]).toEqual([word, list.includes('end') ? 1 : 0])
  at += 2_000
  expect(memory.snapshot(stats).word).toBe('Idle')
})
