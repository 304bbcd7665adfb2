import { left } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { retryable, type Verdict } from '../../src/index.ts'
import { both, exponential, limitRetries } from '../../src/policy/index.ts'
import { busy, open, track, yes } from './virtual.ts'

const wait = (notBefore: number): Verdict => left(retryable('status', { status: 429, notBefore }))

it('Retry-After holds back its URL for all events; one that is held makes no attempt (DE2)', async () => {
  const { clock, destination, urls, outcomes } = open([
    (_id, _number, index) => ({ verdict: index === 0 ? wait(clock.now() + 60_000) : yes }),
  ])
  await destination.send(track('first'))
  for (let id = 0; id < 20; id++) await destination.send(track(String(id)))
  await clock.advance(59_999)
  expect(urls[0]?.calls).toHaveLength(1)
  await clock.advance(1_000)
  expect(urls[0]?.calls).toHaveLength(22)
  expect(outcomes.filter(({ attempts }) => attempts === 1)).toHaveLength(20)
  expect(destination.stats().urls).toMatchObject({ url0: { delivered: 21, failed: 1 } })
})

it('Retry-After of another event costs a retry no attempt of its policy (DE2)', async () => {
  const { clock, destination, outcomes } = open(
    [
      (id, number) =>
        id === 'held' && number === 1
          ? { verdict: busy }
          : { verdict: id === 'held' || number > 1 ? yes : wait(clock.now() + 10_000) },
    ],
    { retry: both(exponential(), limitRetries(1)) },
  )
  await destination.send(track('held'))
  await destination.send(track('other'))
  await clock.advance(20_000)
  expect(outcomes).toMatchObject([
    { _tag: 'Delivered', attempts: 2 },
    { _tag: 'Delivered', attempts: 2 },
  ])
})
