/** The laws of a relay: random worlds of items, receivers and crashes, played on a virtual clock. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { it } from 'vitest'
import { firstSuccess, refused, retryable, type Sink, type Verdict, type Totals } from '../../src/index.ts'
import { both, capDelay, deadline, exponential } from '../../src/policy/index.ts'
import { fullJitter, respectRetryAfter } from '../../src/policy/index.ts'
import { relay, type Relay, type RelayOptions } from '../../src/outbox/relay.ts'
import { one } from '../../src/outbox/take.ts'
import { makeLayer, WithNext } from '../../src/sink/layer.ts'
import { scriptedSink, seededRandom, virtualClock } from '../../src/testing/index.ts'
import { holds, lawTable, same, type Drawn } from '../support/check.ts'
import { sharedStore } from '../support/sharedStore.ts'

type Answer = 'ok' | 'refuse' | 'busy' | 'wait' | 'defect'

interface Ask {
  readonly life: number
  readonly item: number
  readonly url: number
  readonly number: number
  readonly at: number
  readonly until: number
  readonly answer: Answer
}

const step = fc.record({
  answer: fc.constantFrom<Answer>('ok', 'refuse', 'busy', 'busy', 'busy', 'wait', 'defect'),
  after: fc.constantFrom(0, 0, 1, 40, 5_000),
  rest: fc.constantFrom(0, 0, 30),
})
type Step = Drawn<typeof step>

const listOf = <A>(each: fc.Arbitrary<A>, minLength: number, maxLength: number) =>
  fc.array(each, { minLength, maxLength, size: 'max' })

const world = fc.record({
  /** For each URL what it does; the step is picked by item and attempt, the last one repeats. */
  urls: listOf(listOf(step, 1, 4), 1, 3),
  /** When each item arrives, and when the process crashes. */
  items: listOf(fc.nat(20_000), 1, 6),
  crashes: listOf(fc.nat(60_000), 0, 3),
  within: fc.constantFrom(1, 1_000, 30_000, 60_000),
  maxInFlight: fc.constantFrom(1, 2, 4, 12),
  latency: fc.constantFrom(0, 0, 1, 700),
  seed: fc.nat(),
})
const ALWAYS_OK: Step = { answer: 'ok', after: 0, rest: 0 }

const verdictOf = (answer: Exclude<Answer, 'defect'>, sink: string, now: number): Verdict => {
  switch (answer) {
    case 'ok':
      return right({ sink, status: 200 })
    case 'refuse':
      return left(refused('status', { status: 404 }))
    case 'busy':
      return left(retryable('status', { status: 503 }))
    case 'wait':
      return left(retryable('status', { status: 429, notBefore: now + 7_000 }))
  }
}

export type MakeRelay = (options: RelayOptions<number>) => Relay<number>

const play = async (makeRelay: MakeRelay, given: Drawn<typeof world>) => {
  const { urls, items, crashes, within, maxInFlight, latency, seed } = given
  const clock = virtualClock()
  const random = seededRandom(seed)
  const store = sharedStore<number>(clock, { latency, leaseTime: 0 })
  let view = store.open()
  const asks: Ask[] = []
  const samples: Array<{ totals: Totals; stored: number; inFlight: number }> = []
  let life = 0
  let accepted = 0
  let busy = 0

  const url = (script: ReadonlyArray<Step>, index: number): Sink<number> => {
    const name = `url${String(index)}`
    const asked = new Map<number, number>()
    return scriptedSink<number>({
      name,
      clock,
      reply: (item, { number, until }) => {
        const turn = asked.get(item) ?? 0
        asked.set(item, turn + 1)
        const { answer, after, rest } = script[Math.min(turn, script.length - 1)] ?? ALWAYS_OK
        asks.push({ life, item, url: index, number, at: clock.now(), until, answer })
        const times = after === 0 ? {} : { after }
        if (answer === 'defect') return { ...times, defect: new Error('a planted defect') }
        const verdict = verdictOf(answer, name, clock.now() + after)
        return { ...times, verdict, ...(rest === 0 ? {} : { rest }) }
      },
    })
  }
  const sinks = urls.map(url)
  const policy = both(fullJitter(capDelay(10_000)(exponential())), both(deadline(within), respectRetryAfter))

  const boot = (): Relay<number> => {
    const counted = makeLayer<number>(firstSuccess(sinks), (subscribe) => (item, attempt, observer) => {
      busy++
      const answered = new WithNext(observer, (verdict) => {
        busy--
        observer.next(verdict)
      })
      return subscribe(item, attempt, answered)
    })
    // Without it the store is its own, and it counts what it finds there.
    const { watch: _, ...outbox } = view.outbox
    const options = { retry: policy, clock, random, shape: one<number>(maxInFlight), ended: () => undefined }
    return makeRelay({ sink: counted, outbox, ...options })
  }

  let work = boot()
  const sample = (): void => {
    samples.push({ totals: work.totals(), stored: store.entries().length, inFlight: busy })
  }
  const offer = async (item: number): Promise<void> => {
    if ((await work.offer(item))._tag === 'Right') accepted++
  }
  /** A store that crashed never answers. */
  const unanswered = (): void => undefined
  const crash = (): void => {
    life++
    view.kill()
    work.abort(() => undefined)
    busy = 0
    view = store.open()
    work = boot()
  }
  const events = [
    ...items.map((at, item) => ({ at, run: () => void offer(item).catch(unanswered) })),
    ...crashes.map((at) => ({ at, run: crash })),
  ].sort((a, b) => a.at - b.at)
  let now = 0
  for (const event of events) {
    await clock.advance(event.at - now)
    now = event.at
    event.run()
    await clock.settle()
    sample()
  }
  for (let i = 0; i < 2 || (i < 40 && store.entries().length > 0); i++) {
    await clock.advance(10_000)
    sample()
  }
  await clock.advance(10_000)
  sample()
  return { asks, ended: store.ended, accepted, samples, timersLeft: clock.pending() }
}

const of = (asks: ReadonlyArray<Ask>, item: number) => asks.filter((ask) => ask.item === item)

const laws = lawTable(world, play, {
  'Y1 every accepted item ends as exactly one outcome, crashes or not': ({ ended, accepted }) => {
    same(new Set(ended.map(({ item }) => item)).size, ended.length)
    holds(ended.length >= accepted, `${accepted} accepted, ${ended.length} ended`)
  },
  'Y2 nothing starts at or after the deadline, which counts from a first attempt': ({ asks }, { within }) => {
    for (const { item, at, until } of asks) {
      holds(at < until, `started at ${at}, deadline ${until}`)
      const isFirst = ({ number, ...first }: Ask): boolean => number === 1 && first.at === until - within
      holds(of(asks, item).some(isFirst), 'a deadline that counts from no first attempt')
    }
  },
  'Y3 no URL is asked again after a remembered refusal': ({ asks }) => {
    // A crash repeats the round it interrupted: what was stored is the last answer of a round.
    const stored = new Map(asks.map((ask) => [[ask.item, ask.url, ask.number].join(), ask]))
    for (const { answer, item, url, number } of stored.values()) {
      const again = of(asks, item).some((ask) => ask.url === url && ask.number > number)
      holds(answer !== 'refuse' || !again, `url ${url} was asked again`)
    }
  },
  'Y4 the accounting holds at every sample, and agrees with the store': ({ samples }) => {
    for (const { totals, stored } of samples) {
      const { accepted, delivered, rejected, expired, dropped, abandoned, waiting } = totals
      same([accepted, waiting], [delivered + rejected + expired + dropped + abandoned + waiting, stored])
    }
  },
  'Y5 no more are in a round than allowed': ({ samples }, { maxInFlight }) =>
    samples.forEach(({ inFlight }) => holds(inFlight <= maxInFlight, `${inFlight} in a round`)),
  'Y6 at rest no timer is left': ({ timersLeft }) => same(timersLeft, 0),
})

export const relayLaws = laws.each

it('a relay over an outbox that survives crashes keeps its laws', () => fc.assert(laws.all(relay)))
