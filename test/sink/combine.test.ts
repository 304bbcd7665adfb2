import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { Subject, takeUntil } from 'rxjs'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { failover, firstSuccess, onlyAttempt, sink, toAll, type Sink, type Verdict } from '../../src/index.ts'
import { refused, retryable, show } from '../../src/core/failure.ts'
import { newShared, SHARED } from '../../src/sink/sink.ts'
import { scriptedSink, virtualClock, type Reply, type ScriptedSink } from '../../src/testing/index.ts'

const taken: Verdict = right({ sink: 'a', status: 200 })
const spot = (name: string, verdict: Verdict): Sink<number> => sink(name, () => verdict)
const scripted = (name: string, reply: Reply, clock = virtualClock()): ScriptedSink<number> =>
  scriptedSink({ name, clock, reply: () => reply })

describe('construction', () => {
  test.each([
    [firstSuccess, 'a | b'],
    [failover, 'a > b'],
    [toAll, 'a & b'],
  ])('$0.name needs a list of sinks with names of their own; its name is made of these', (combine, name) => {
    const [a, b] = [spot('a', taken), spot('b', taken)]
    const list = `${combine.name}: expected a list of sinks, such as ${combine.name}([`
    expect(() => combine([])).toThrow(list)
    // What code without types may give.
    expect(() => combine(a as never)).toThrow(list)
    expect(() => combine([1 as never])).toThrow(`${combine.name}: expected a sink, got a number`)
    expect(() => combine([a, b, b])).toThrow(`${combine.name}: two sinks have the name b:`)
    expect(() => combine([a], { name: '' })).toThrow(`options of ${combine.name}: name must be`)
    expect([combine([a, b]).name, combine([a], { name: 'mine' }).name]).toEqual([name, 'mine'])
  })
  test('takes sinks of one item type, and of wider ones', () => {
    const wide = sink('wide', (_item: unknown) => taken)
    expectTypeOf(firstSuccess([spot('a', taken), wide])).toEqualTypeOf<Sink<number>>()
  })
})

test('closes all at the same time, and fails only when all are closed', async () => {
  const seen: string[] = []
  const closing = (name: string, end: () => Promise<void>): Sink<number> => {
    const close = async ({ timeout }: { timeout: number }): Promise<void> => {
      seen.push(`${name} ${timeout}`)
      await end()
      seen.push(`${name} closed`)
    }
    return sink(name, () => taken, { close })
  }
  const stuck = closing('a', () => Promise.reject(new Error('stuck')))
  const both = firstSuccess([stuck, closing('b', () => virtualClock().settle())])
  await expect(both.close({ timeout: 70 })).rejects.toThrow('stuck')
  expect(seen).toEqual(['a 70', 'b 70', 'b closed'])
})

test('several sinks share their work; one alone is given that of its own attempt', () => {
  const [one, other] = [scripted('a', { verdict: taken }), scripted('b', { verdict: taken })]
  const shared = newShared()
  firstSuccess([one, other]).deliver(1, onlyAttempt).subscribe()
  firstSuccess([one]).deliver(1, onlyAttempt).subscribe()
  firstSuccess([one, other])
    .deliver(1, { ...onlyAttempt, lastFailure: retryable('network'), [SHARED]: shared })
    .subscribe()
  const [first, alone, given] = one.calls.map((call) => call.attempt[SHARED])
  expect([first, alone]).toStrictEqual([{ ...newShared(), isStarted: true }, undefined])
  expect(first).toBe(other.calls[0]?.attempt[SHARED])
  expect(given).toBe(shared)
})

test('shares one verdict between items for which all sinks fail as before', () => {
  const failed = left(retryable('network'))
  const both = firstSuccess([spot('a', failed), spot('b', failed)])
  const verdicts: Verdict[] = []
  for (const item of [1, 2]) both.deliver(item, onlyAttempt).subscribe((verdict) => verdicts.push(verdict))
  expect(verdicts[0]).toMatchObject({ left: { _tag: 'AllFailed', causes: [{ sink: 'a' }, { sink: 'b' }] } })
  expect(verdicts[1]).toBe(verdicts[0])
  const all = toAll([sink('a', (status: number) => right({ sink: 'a', status })), spot('b', failed)])
  for (const status of [200, 201]) all.deliver(status, onlyAttempt).subscribe((each) => verdicts.push(each))
  expect(verdicts[3]).toMatchObject({
    left: { verdicts: [{ verdict: right({ sink: 'a', status: 201 }) }, {}] },
  })
})

test.each([
  [firstSuccess, /^a: defect, Error at \S+; b: no$/],
  [
    failover,
    /^a: defect, Error at \S+; b: late, the deadline came before it was asked; no request was sent$/,
  ],
])('at the deadline $0.name asks its first sink, and others at the same time only', (combine, words) => {
  const clock = virtualClock({ start: 7 })
  const sinks = [scripted('a', { defect: new Error('planted') }), spot('b', left(refused('no')))]
  const told: string[] = []
  combine(sinks)
    .deliver(1, { ...onlyAttempt, until: 7, clock })
    .subscribe((verdict) => told.push(isLeft(verdict) ? show(verdict.left) : 'delivered'))
  expect(told).toEqual([expect.stringMatching(words)])
})

test('a cancel reaches also a sink that is being asked, and no other is asked', async () => {
  const clock = virtualClock()
  const stop = new Subject<void>()
  const later = scripted('a', { verdict: left(retryable('network')), after: 5 }, clock)
  const stopping = scriptedSink<number>({ name: 'b', clock, reply: () => (stop.next(), {}) })
  const last = scripted('c', {}, clock)
  const verdicts = failover([later, stopping, last]).deliver(1, { ...onlyAttempt, clock })
  verdicts.pipe(takeUntil(stop)).subscribe()
  await clock.advance(5)
  expect([stopping.calls.length, stopping.running(), last.calls.length]).toEqual([1, 0, 0])
})
