import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { firstSuccess } from '../../src/sink/combine.ts'
import { allFailed, expired, type Failure, refused, retryable, partlyFailed } from '../../src/core/failure.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { onlyAttempt, type Sink } from '../../src/sink/sink.ts'
import { sink } from '../../src/sink/fromFunction.ts'
import { scriptedSink, type ScriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

const taken: Verdict = right({ sink: 'a', status: 200 })
const spot = (name: string, verdict: Verdict): Sink<number> => sink(name, () => verdict)

describe('construction', () => {
  test('needs a sink', () => expect(() => firstSuccess([])).toThrow(TypeError))
  test('names the sink that is given twice', () =>
    expect(() => firstSuccess([spot('a', taken), spot('b', taken), spot('b', taken)])).toThrow(/the name b:/))
  test('has a name made of the names, or its own', () => {
    expect(firstSuccess([spot('a', taken), spot('b', taken)]).name).toBe('a | b')
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
  const clock = virtualClock()
  const [one, other] = ['a', 'b'].map((name) =>
    scriptedSink<number>({ name, clock, reply: () => ({ verdict: taken }) }),
  ) as [ScriptedSink<number>, ScriptedSink<number>]
  const shared = { wire: undefined }
  firstSuccess([one, other]).deliver(1, onlyAttempt).subscribe()
  firstSuccess([one]).deliver(1, onlyAttempt).subscribe()
  firstSuccess([one])
    .deliver(1, { ...onlyAttempt, lastFailure: retryable('network'), shared })
    .subscribe()
  const [first, alone, given] = one.calls.map((call) => call.attempt.shared)
  expect([first, alone]).toEqual([{ wire: undefined }, undefined])
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
  const only = scriptedSink<number>({ name: 'a', clock, reply: () => ({ verdict: taken }) })
  const lastFailure = allFailed([{ sink: 'a', failure }])
  firstSuccess([only], { clock })
    .deliver(1, { ...onlyAttempt, lastFailure })
    .subscribe()
  expect(only.calls).toHaveLength(asked ? 1 : 0)
})
