import { runInNewContext } from 'node:vm'
import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { carried, allFailed, codeOf, earliestRetry, expired } from '../../src/core/failure.ts'
import { isFinal, messageOf, type Failure } from '../../src/core/failure.ts'
import { notAll, refused, retryable, partlyFailed, show, wasStarted } from '../../src/core/failure.ts'
import { errorKind, thrown } from '../../src/log/logEvent.ts'

const taken = right({ sink: 'a', status: 200 })
const no = left(refused('status', { status: 400 }))
const later = left(retryable('status', { status: 503 }))
const asks = (notBefore: number): Failure => retryable('status', { notBefore })
const cause = (failure: Failure) => ({ sink: 'a', failure })

it.each<[string, Failure, number | undefined]>([
  ['NaN alone', asks(NaN), 0],
  ['NaN first in a first success', allFailed([cause(asks(NaN)), cause(refused('status'))]), 0],
  ['NaN last in a first success', allFailed([cause(asks(5)), cause(asks(NaN))]), 0],
  ['NaN in a batch', partlyFailed([left(asks(NaN)), left(asks(7))]), 0],
  ['moments of a batch', partlyFailed([taken, left(asks(9)), left(asks(7)), no]), 7],
  ['nothing to retry in a batch', partlyFailed([taken, no]), undefined],
  ['an empty batch', partlyFailed([]), undefined],
])('earliestRetry of %s', (_, failure, expected) => expect(earliestRetry(failure)).toBe(expected))

const held = left(retryable('held', { notBefore: 5 }))
const late = left(retryable('late'))
const full = left(retryable('queueFull'))
it.each<[string, Failure, boolean]>([
  ['held', retryable('held'), false],
  ['a batch that was held and late everywhere', partlyFailed([held, late, full]), false],
  ['a batch of which one was refused', partlyFailed([held, no]), true],
  ['a batch of which one was taken', partlyFailed([taken, late]), true],
  ['a batch of which one failed', partlyFailed([late, later]), true],
  ['a batch in a first success', allFailed([cause(partlyFailed([held])), cause(retryable('late'))]), false],
])('wasStarted of %s', (_, failure, expected) => expect(wasStarted(failure)).toBe(expected))

describe('carried', () => {
  const lastFailure = partlyFailed([taken, no, later])

  it('keeps who took it and who refused it for good, also inside each other', () => {
    const held = retryable('held')
    const never = { sink: 'never', failure: refused('status') }
    const before = notAll([
      { sink: 'a', verdict: taken },
      { sink: 'b', verdict: left(allFailed([never, { sink: 'later', failure: retryable('timeout') }])) },
    ])
    expect(carried(before, held)).toEqual(
      notAll([
        { sink: 'a', verdict: taken },
        { sink: 'b', verdict: left(allFailed([never, { sink: 'later', failure: held }])) },
      ]),
    )
  })

  it.each([partlyFailed([taken, taken, no]), allFailed([]), expired(1, 0, retryable('timeout'), 'deadline')])(
    'does not change the failure %j',
    (failure) => expect(carried(lastFailure, failure)).toBe(failure),
  )

  const timeout = retryable('timeout')
  const others = [undefined, timeout, allFailed([cause(timeout)]), partlyFailed([later])]
  it.each(others)('keeps nothing of %j', (before) => {
    const failure = retryable('held')
    expect(carried(before, failure)).toBe(failure)
  })
})

const verdicts = [taken, no, later, left(partlyFailed([taken, no])), left(partlyFailed([later, no]))]
it('isFinal: taken, or no part of the failure may pass', () =>
  expect(verdicts.map(isFinal)).toEqual([true, true, false, true, false]))

/** As the errors of Node are under Jest: no `instanceof Error`. */
const foreign: unknown = runInNewContext(
  `Object.assign(new RangeError('fetch failed', { cause: Error('reset') }), { code: 'EIO' })`,
)

it('reads kind and code of an error of another realm, and the code of an object in its place', () => {
  expect(foreign instanceof Error).toBe(false)
  expect(errorKind(foreign)).toBe('RangeError (EIO) at evalmachine.<anonymous>:1:15')
  expect([foreign, { code: 'EIO' }, 'EIO', null].map(codeOf)).toEqual(['EIO', 'EIO', '', ''])
})

class Hostile extends Error {
  override get message(): string {
    throw new Error('no message for you')
  }
}

it.each([
  ['the message of an error', new Error('broken pipe'), 'broken pipe'],
  ['its name, when it says nothing', new RangeError(''), 'RangeError'],
  ['its cause too', new Error('fetch failed', { cause: new Error('reset') }), 'fetch failed: reset'],
  ['of an error and a cause of another realm', foreign, 'fetch failed: reset'],
  ['a text as it is', 'broken', 'broken'],
  ['nothing at all', undefined, 'undefined'],
  ['an error whose message is none', Object.assign(new Error('x'), { message: undefined }), 'undefined'],
  ['what cannot be turned into text', Object.create(null), 'an error that cannot be read'],
  ['an error that throws', new Hostile(), 'an error that cannot be read'],
  ['at most 300 characters', new Error('x'.repeat(100_000)), `${'x'.repeat(300)}…`],
])('messageOf: %s', (_name, error, message) => expect(messageOf(error)).toBe(message))

it('shows of an error of a host its kind and place, and not its message', () => {
  const failure = thrown('threw', new RangeError('Key (email)=(bob@secret.example)'))
  expect(failure.detail).toMatch(
    /^RangeError at .+, with the message: Key \(email\)=\(bob@secret\.example\)$/,
  )
  expect(show(failure)).toMatch(/^threw, RangeError at [^:]+:\d+:\d+$/)
})
