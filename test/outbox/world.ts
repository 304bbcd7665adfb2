/**
 * Random worlds for the relay: items, receivers that behave by script, crashes. All of it is data, and `play` interprets it on a
 * virtual clock, so a counterexample is a value that can be kept.
 */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { firstSuccess } from '../../src/sink/firstSuccess.ts'
import { refused, retryable } from '../../src/core/failure.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import type { Totals } from '../../src/core/totals.ts'
import type { Verdict } from '../../src/core/failure.ts'
import type { Relay, RelayOptions } from '../../src/outbox/relay.ts'
import { both, capDelay, deadline, exponential, fullJitter, notBefore } from '../../src/policy/retryPolicy.ts'
import { fromRun } from '../../src/sink/layer.ts'
import type { Sink } from '../../src/sink/sink.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { disk, survivingOutbox } from './survivingOutbox.ts'

export type Answer = 'ok' | 'refuse' | 'busy' | 'wait' | 'defect'

export interface Step {
  readonly answer: Answer
  /** Milliseconds until the verdict, and from the verdict to rest. */
  readonly after: number
  readonly rest: number
}

export interface World {
  /** For each URL what it does; the step is picked by item and attempt, the last one repeats. */
  readonly urls: ReadonlyArray<ReadonlyArray<Step>>
  /** When each item arrives. */
  readonly items: ReadonlyArray<number>
  /** When the process crashes. */
  readonly crashes: ReadonlyArray<number>
  readonly within: number
  readonly maxInFlight: number
  readonly latency: number
  readonly seed: number
}

export interface Ask {
  readonly life: number
  readonly item: number
  readonly url: number
  readonly number: number
  readonly at: number
  readonly until: number
  readonly answer: Answer
}

export interface Trace {
  readonly asks: ReadonlyArray<Ask>
  readonly ended: ReadonlyArray<Outcome<number>>
  readonly accepted: number
  readonly samples: ReadonlyArray<{
    readonly totals: Totals
    readonly stored: number
    readonly maxInFlight: number
  }>
  readonly timersLeft: number
}

const step: fc.Arbitrary<Step> = fc.record({
  answer: fc.constantFrom<Answer>('ok', 'refuse', 'busy', 'busy', 'busy', 'wait', 'defect'),
  after: fc.constantFrom(0, 0, 1, 40, 5_000),
  rest: fc.constantFrom(0, 0, 30),
})

export const world: fc.Arbitrary<World> = fc.record({
  urls: fc.array(fc.array(step, { minLength: 1, maxLength: 4, size: 'max' }), {
    minLength: 1,
    maxLength: 3,
    size: 'max',
  }),
  items: fc.array(fc.nat(20_000), { minLength: 1, maxLength: 6, size: 'max' }),
  crashes: fc.array(fc.nat(60_000), { maxLength: 3, size: 'max' }),
  within: fc.constantFrom(1, 1_000, 30_000, 60_000),
  maxInFlight: fc.constantFrom(1, 2, 4, 12),
  latency: fc.constantFrom(0, 0, 1, 700),
  seed: fc.nat(),
})

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

/** Plays a world to its end. */
export const play = async (
  { urls, items, crashes, within, maxInFlight, latency, seed }: World,
  makeRelay: (options: RelayOptions<number>) => Relay<number>,
): Promise<Trace> => {
  const clock = virtualClock()
  const random = seededRandom(seed)
  const on = disk<number>()
  const asks: Ask[] = []
  const samples: Array<Trace['samples'][number]> = []
  let life = 0
  let accepted = 0
  let busy = 0

  const url = (script: ReadonlyArray<Step>, index: number): Sink<number> => {
    const name = `url${String(index)}`
    const asked = new Map<number, number>()
    return fromRun(
      name,
      (item, attempt, receiver) => {
        const born = life
        const turn = asked.get(item) ?? 0
        asked.set(item, turn + 1)
        const { answer, after, rest } = script[Math.min(turn, script.length - 1)] ?? {
          answer: 'ok',
          after: 0,
          rest: 0,
        }
        asks.push({
          life,
          item,
          url: index,
          number: attempt.number,
          at: clock.now(),
          until: attempt.until,
          answer,
        })
        let cancelRest = (): void => undefined
        const speak = (): void => {
          if (life !== born) return
          if (answer === 'defect') {
            receiver.error(new Error('a planted defect'))
            return
          }
          receiver.next(verdictOf(answer, name, clock.now()))
          if (rest === 0) receiver.complete()
          else cancelRest = clock.schedule(rest, receiver.complete)
        }
        const cancel = after === 0 ? (speak(), () => undefined) : clock.schedule(after, speak)
        return () => {
          cancel()
          cancelRest()
        }
      },
      () => () => Promise.resolve(),
    )
  }
  const sinks = urls.map(url)
  const policy = both(fullJitter(capDelay(10_000)(exponential())), both(deadline(within), notBefore))

  const boot = (): Relay<number> => {
    const rounds = firstSuccess(sinks, { clock })
    const counted = fromRun<number>(
      'counted',
      (item, attempt, receiver) => {
        busy++
        let out = false
        const over = (): void => {
          if (!out) busy--
          out = true
        }
        const subscription = rounds.deliver(item, attempt).subscribe({
          next: (verdict) => {
            over()
            receiver.next(verdict)
          },
          complete: () => receiver.complete(),
          error: (error) => {
            over()
            receiver.error(error)
          },
        })
        return () => {
          subscription.unsubscribe()
        }
      },
      () => () => Promise.resolve(),
    )
    return makeRelay({
      sink: counted,
      outbox: survivingOutbox(on, clock, { latency }),
      retry: policy,
      clock,
      random,
      maxInFlight,
      ended: () => undefined,
    })
  }

  let work = boot()
  const sample = (): void => {
    samples.push({ totals: work.totals(), stored: on.entries.size, maxInFlight: busy })
  }
  const events = [
    ...items.map((at, item) => ({
      at,
      run: () => {
        void offer(item)
      },
    })),
    ...crashes.map((at) => ({
      at,
      run: () => {
        life++
        on.generation++
        work.abort(() => undefined)
        busy = 0
        work = boot()
      },
    })),
  ].sort((a, b) => a.at - b.at)
  const offer = async (item: number): Promise<void> => {
    const answer = await work.offer(item)
    if (answer._tag === 'Right') accepted++
  }
  let now = 0
  for (const event of events) {
    await clock.advance(event.at - now)
    now = event.at
    event.run()
    await clock.settle()
    sample()
  }
  for (let i = 0; i < 2 || (i < 40 && on.entries.size > 0); i++) {
    await clock.advance(10_000)
    sample()
  }
  await clock.advance(10_000)
  sample()
  return { asks, ended: on.ended, accepted, samples, timersLeft: clock.pending() }
}
