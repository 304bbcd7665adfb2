import { left, right } from 'fp-ts/lib/Either.js'
import { take } from 'rxjs'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { failover, firstSuccess, toAll } from '../../src/sink/combine.ts'
import {
  allFailed,
  expired,
  notAll,
  type Failure,
  refused,
  retryable,
  partlyFailed,
} from '../../src/core/failure.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { onlyAttempt, type Sink } from '../../src/sink/sink.ts'
import { sink } from '../../src/sink/fromFunction.ts'
import { scriptedSink, type Reply, type ScriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

const taken: Verdict = right({ sink: 'a', status: 200 })
const spot = (name: string, verdict: Verdict): Sink<number> => sink(name, () => verdict)
const scripted = (name: string, reply: Reply, clock = virtualClock()): ScriptedSink<number> =>
  scriptedSink({ name, clock, reply: () => reply })

describe('construction', () => {
  test.each([firstSuccess, failover, toAll])('needs a sink, and known options: $name', (combine) => {
    const wanted = `${combine.name}: expected a list of sinks, such as ${combine.name}([a, b])`
    expect(() => combine([])).toThrow(new TypeError(wanted))
    expect(() => combine([spot('a', taken)], { name: '' })).toThrow(
      `options of ${combine.name}: name must be`,
    )
  })
  test('names the sink that is given twice', () =>
    expect(() => firstSuccess([spot('a', taken), spot('b', taken), spot('b', taken)])).toThrow(/the name b:/))
  test('has a name made of the names, or its own', () => {
    const names = [firstSuccess, failover, toAll].map(
      (combine) => combine([spot('a', taken), spot('b', taken)]).name,
    )
    expect(names).toEqual(['a | b', 'a > b', 'a & b'])
    expect(firstSuccess([spot('a', taken)], { name: 'mine' }).name).toBe('mine')
  })
  test('takes sinks of one item type, and of wider ones', () => {
    const wide = sink('wide', (_item: unknown) => taken)
    expectTypeOf(firstSuccess([spot('a', taken), wide])).toEqualTypeOf<Sink<number>>()
  })
})

describe('close', () => {
  const closing = (name: string, close: (within: number) => Promise<unknown>): Sink<number> =>
    sink(name, () => taken, { close })

  test('closes all at the same time', async () => {
    const closed: string[] = []
    let release = (): void => {}
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const closer = (name: string): Sink<number> =>
      closing(name, async (within) => {
        closed.push(`${name} ${within}`)
        await gate
      })
    const done = firstSuccess([closer('a'), closer('b')]).close(70)()
    expect(closed).toEqual(['a 70', 'b 70'])
    release()
    await done
  })

  test('fails only when all others are closed', async () => {
    let closed = false
    const both = firstSuccess([
      closing('a', () => Promise.reject(new Error('stuck'))),
      closing('b', async () => {
        await virtualClock().settle()
        closed = true
      }),
    ])
    await expect(both.close(10)()).rejects.toThrow('stuck')
    expect(closed).toBe(true)
  })
})

test('several sinks share their work; one alone is given that of its own attempt', () => {
  const [one, other] = [scripted('a', { verdict: taken }), scripted('b', { verdict: taken })]
  const shared = { wire: undefined }
  firstSuccess([one, other]).deliver(1, onlyAttempt).subscribe()
  firstSuccess([one]).deliver(1, onlyAttempt).subscribe()
  firstSuccess([one, other])
    .deliver(1, { ...onlyAttempt, lastFailure: retryable('network'), shared })
    .subscribe()
  const [first, alone, given] = one.calls.map((call) => call.attempt.shared)
  expect([first, alone]).toStrictEqual([{ wire: undefined }, undefined])
  expect(first).toBe(other.calls[0]?.attempt.shared)
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

test('at the deadline a failover asks its first sink only, and a first success all', () => {
  const sinks = [scripted('a', { defect: new Error('planted') }), spot('b', left(refused('no')))]
  const clock = virtualClock({ start: 7 })
  const told = [firstSuccess, failover].map((combine) => {
    let all: Verdict | undefined
    const one = combine(sinks, { clock }).deliver(1, { ...onlyAttempt, until: 7 })
    one.subscribe((verdict) => (all = verdict))
    return all
  })
  const first = { sink: 'a', failure: retryable('defect', { detail: 'planted' }) }
  const detail = 'the deadline came before it was asked; no request was sent'
  expect(told).toEqual(
    [refused('no'), retryable('late', { detail })].map((failure) =>
      left(allFailed([first, { sink: 'b', failure }])),
    ),
  )
})

test('a defect after the verdict changes nothing', () => {
  const seen: Verdict[] = []
  const both = toAll([scripted('a', { verdict: taken, defect: new Error('planted') }), spot('b', taken)])
  both.deliver(1, onlyAttempt).subscribe((verdict) => seen.push(verdict))
  expect(seen).toEqual([right({ sink: 'a & b' })])
})

test('a cancel reaches every sink, also one that answers while it is asked', async () => {
  const clock = virtualClock()
  const later = scripted('a', { verdict: left(retryable('network')), after: 5, rest: Infinity }, clock)
  const sinks = [later, scripted('b', { verdict: taken, rest: Infinity }, clock)]
  for (const combine of [firstSuccess, failover])
    combine(sinks).deliver(1, onlyAttempt).pipe(take(1)).subscribe()
  await clock.advance(5)
  expect(sinks.map((each) => [each.calls.length, each.running()])).toEqual([
    [2, 0],
    [2, 0],
  ])
})

test.each<readonly [string, Failure, number, boolean]>([
  ['an expiry', expired(3, 0, retryable('network')), 1e15, false],
  [
    'a batch of which some members may pass',
    partlyFailed([right({ sink: 'x' }), left(retryable('network'))]),
    0,
    true,
  ],
  [
    'a batch of which no member may pass',
    partlyFailed([right({ sink: 'x' }), left(refused('status'))]),
    0,
    false,
  ],
])('asks a sink again or not after %s', (_name, failure, now, asked) => {
  const clock = virtualClock({ start: now })
  const sinks = [scripted('a', { verdict: taken }), scripted('added', { verdict: taken })]
  const [all, none] = [notAll([{ sink: 'a', verdict: left(failure) }]), allFailed([{ sink: 'a', failure }])]
  for (const lastFailure of [none, retryable('held')])
    firstSuccess(sinks, { clock })
      .deliver(1, { ...onlyAttempt, lastFailure })
      .subscribe()
  for (const lastFailure of [all, retryable('held')])
    toAll(sinks, { clock })
      .deliver(1, { ...onlyAttempt, lastFailure })
      .subscribe()
  expect(sinks.map(({ calls }) => calls.length)).toEqual([asked ? 4 : 2, 4])
})
