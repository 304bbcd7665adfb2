import { EMPTY, lastValueFrom } from 'rxjs'
import { expect, it } from 'vitest'
import { deliver, retryable, type ObservableEither } from '../../src/index.ts'
import { memoryOutbox } from '../../src/outbox/index.ts'
import { both, deadline, exponential } from '../../src/policy/index.ts'
import { scriptedSink, virtualClock } from '../../src/testing/index.ts'

const none$: ObservableEither<never, string> = EMPTY

const failed = { attempts: 1, lastFailure: retryable('status') }

it.each([
  [999, 'Delivered', 2, 1, failed],
  [1_000, 'Expired', 1, 0, failed],
  [999, 'Delivered', 1, 1, undefined],
  [1_000, 'Expired', 1, 0, undefined],
])(
  'after a restart %i ms after its first attempt an item with a deadline of 1,000 ms is %s',
  async (ms, tag, attempts, sent, progress) => {
    const clock = virtualClock()
    const firstAttemptAt = clock.now()
    const outbox = memoryOutbox<string>({ sizeOf: () => 1, clock })
    await outbox.enqueue(['a'])
    const [entry] = await outbox.lease(firstAttemptAt, { count: 1, retries: 1 })
    if (entry === undefined) throw new Error('nothing is leased')
    await outbox.nack([{ entry: { ...entry, firstAttemptAt, progress }, due: firstAttemptAt + ms }])
    clock.tick(ms)
    const sink = scriptedSink<string>({ clock })
    const retry = both(exponential({ base: 1 }), deadline(1_000))
    const outcome = await clock.run(
      lastValueFrom(none$.pipe(deliver(sink, { outbox, retry, clock })), { defaultValue: undefined }),
    )
    expect({ ...outcome, sent: sink.calls.length }).toMatchObject({ _tag: tag, attempts, sent })
    for (const { attempt } of sink.calls) expect(attempt.until).toBe(firstAttemptAt + 1_000)
  },
)
