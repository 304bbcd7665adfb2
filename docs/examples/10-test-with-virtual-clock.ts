// A test that plays a night without a receiver in milliseconds. It runs as it stands with node:test.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deliver, lift, retryable, withConcurrency, withTimeout } from 'headrace'
import type { Outcome, Refusal } from 'headrace'
import { scriptedSink, seededRandom, virtualClock } from 'headrace/testing'
import { pipe } from 'fp-ts/lib/function.js'
import { left, right } from 'fp-ts/lib/Either.js'
import { from } from 'rxjs'

const HOUR = 3_600_000

test('three hours of 503 lose nothing', () => {
  const clock = virtualClock()
  const receiver = scriptedSink<string>({
    clock,
    reply: () => ({
      verdict:
        clock.monotonic() < 3 * HOUR ? left(retryable('status', { status: 503 })) : right({ sink: 'ok' }),
      after: 30,
    }),
  })
  const guarded = pipe(receiver, withTimeout({ timeout: 5_000 }), withConcurrency({ concurrency: 16 }))
  const ended: Array<Refusal | Outcome<string>> = []

  from(['a', 'b', 'c'])
    .pipe(lift(), deliver(guarded, { clock, random: seededRandom(1) }))
    .subscribe((each) => ended.push(each))
  clock.tick(4 * HOUR)

  assert.deepEqual(new Set(ended.map(({ _tag }) => _tag)), new Set(['Delivered']))
  assert.equal(ended.length, 3)
  assert.equal(receiver.running(), 0)
  assert.equal(clock.pending(), 0) // no timer is left
})
