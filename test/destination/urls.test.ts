import { left } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { refused, retryable, type Payload, type Verdict } from '../../src/index.ts'
import { checkOptions } from '../../src/core/options.ts'
import { destinationOptions } from '../../src/destination/settings.ts'
import { urlsSink } from '../../src/destination/urls.ts'
import type { Event } from '../../src/event/index.ts'
import { scriptedSink, virtualClock } from '../../src/testing/index.ts'
import { open, track, yes } from './virtual.ts'

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

it('leases no event while all URLs ask for a pause, and asks a new URL at once', async () => {
  const pause = () => ({ verdict: wait(clock.now() + 60_000) })
  const { clock, destination, told } = open([pause, (id) => (Number(id) > 2 ? pause() : { verdict: yes })])
  for (let id = 1; id <= 5; id++) {
    await destination.send(track(String(id)))
    await clock.advance(1)
  }
  expect(destination.stats().delivered).toBe(2)
  expect(told.filter(({ _tag }) => _tag === 'Waiting')).toHaveLength(1)
  const other = scriptedSink<Payload<Event>>({ name: 'other', clock })
  destination.change([other], undefined)
  await clock.advance(1)
  expect([other.calls.length, Object.keys(destination.stats().urls)]).toEqual([2, ['other']])
})

it('what the old URLs refuse while it is under way goes to one that came since', async () => {
  const { clock, destination, outcomes } = open([() => ({ verdict: left(refused('status')), after: 10 })])
  for (const id of ['1', '2']) await destination.send(track(id))
  await clock.advance(5)
  destination.change([scriptedSink<Payload<Event>>({ name: 'other', clock })], undefined)
  await clock.advance(5_000)
  const delivered = { _tag: 'Delivered', attempts: 2, receipt: { sink: 'other' } }
  expect(outcomes).toMatchObject([delivered, delivered])
})

it('an exchange refuses two sinks of one name, ends what waits for one that it leaves out, and closes it', async () => {
  const clock = virtualClock()
  const reply = () => ({ verdict: yes, after: Infinity })
  const [url, other] = ['url', 'other'].map((name) => scriptedSink<Payload<Event>>({ name, clock, reply }))
  if (url === undefined || other === undefined) throw new Error('two were made')
  const { sink, exchange } = urlsSink([url], checkOptions('', destinationOptions, { clock, concurrency: 1 }))
  expect(() => exchange([other, other])).toThrow(TypeError)
  const payload = { id: 'a', items: [], text: '{}', byteLength: 2 } as unknown as Payload<Event>
  const verdicts: Verdict[] = []
  const attempt = { number: 1, until: Infinity, lastFailure: undefined, clock }
  for (let n = 0; n < 2; n++) sink.deliver(payload, attempt).subscribe((verdict) => verdicts.push(verdict))
  await clock.advance(1)
  expect([url.calls.length, url.closed, other.calls, verdicts]).toEqual([1, [], [], []])
  exchange([other])
  expect(verdicts).toMatchObject([{ left: { causes: [{ failure: { reason: 'held' } }] } }])
  const again = scriptedSink<Payload<Event>>({ name: 'other', clock })
  exchange([again])
  const closes = () => [url, other, again].map((each) => each.closed.length)
  // The others are still closing.
  await clock.run(sink.close({ timeout: 0, clock }))
  expect(closes()).toEqual([2, 2, 1])
})
