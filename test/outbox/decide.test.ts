import { left, right } from 'fp-ts/lib/Either.js'
import { EMPTY, NEVER, concat, lastValueFrom, of } from 'rxjs'
import { expect, it } from 'vitest'
import { deliver, retryable, type ObservableEither } from '../../src/index.ts'
import { memoryOutbox } from '../../src/outbox/index.ts'
import { both, deadline, exponential } from '../../src/policy/index.ts'
import { scriptedSink, seededRandom, virtualClock } from '../../src/testing/index.ts'

const none$: ObservableEither<never, string> = EMPTY

it.each([
  [999, 'Delivered', 1],
  [1_000, 'Expired', 0],
])(
  'after a restart %i ms after its first attempt an item with a deadline of 1,000 ms is %s',
  async (ms, tag, sent) => {
    const clock = virtualClock()
    const firstAttemptAt = clock.now()
    const outbox = memoryOutbox<string>({ sizeOf: () => 1, clock })
    await outbox.enqueue(['a'])
    const [entry] = await outbox.lease(firstAttemptAt, { count: 1, retries: 1 })
    if (entry === undefined) throw new Error('nothing is leased')
    const progress = { attempts: 1, lastFailure: retryable('status') }
    await outbox.nack([{ entry: { ...entry, firstAttemptAt, progress }, due: firstAttemptAt + ms }])
    clock.tick(ms)
    const sink = scriptedSink<string>({ clock })
    const retry = both(exponential({ base: 1 }), deadline(1_000))
    const outcome = await clock.run(
      lastValueFrom(none$.pipe(deliver(sink, { outbox, retry, clock })), { defaultValue: undefined }),
    )
    expect([outcome?._tag, sink.calls.length]).toEqual([tag, sent])
    for (const { attempt } of sink.calls) expect(attempt.until).toBe(firstAttemptAt + 1_000)
  },
)

const HOUR = 3_600_000

it.each([
  ['slept ten hours makes no attempt after four hours', 10, 1],
  ['is set back five hours keeps its deadlines', -5, 3],
])('a machine that %s of a dead receiver', (_, shift, hours) => {
  const clock = virtualClock()
  const ended: string[] = []
  const dead = scriptedSink<number>({ clock, reply: () => ({ verdict: left(retryable('network')) }) })
  concat(of(right(1)), NEVER)
    .pipe(deliver(dead, { clock, random: seededRandom(7) }))
    .subscribe((outcome) => ended.push(outcome._tag))
  clock.tick(HOUR)
  const before = dead.calls.length
  // The monotonic clock stands still while a machine sleeps.
  clock.wall(shift * HOUR)
  clock.tick(hours * HOUR)
  expect(ended).toEqual(['Expired'])
  if (shift > 0) expect(dead.calls.length).toBe(before)
})
