import { left } from 'fp-ts/lib/Either.js'
import { EMPTY, lastValueFrom } from 'rxjs'
import { expect, it } from 'vitest'
import { allFailed } from '../../src/core/failure.ts'
import { deliver, retryable, type ObservableEither } from '../../src/index.ts'
import { decide } from '../../src/outbox/decide.ts'
import { memoryOutbox } from '../../src/outbox/index.ts'
import { newEntry } from '../../src/outbox/outbox.ts'
import { both, deadline, exponential, limitRetries, respectRetryAfter } from '../../src/policy/index.ts'
import { scriptedSink, virtualClock } from '../../src/testing/index.ts'

it.each([limitRetries(0), deadline(1_000)])('%j ends no item before its first request', (retry) => {
  const policy = both(retry, respectRetryAfter)
  const after = (reason: 'held' | 'status') =>
    decide(policy, newEntry('1', 'a'), 7, left(retryable(reason, { notBefore: 5_000 })), 8, () => 0)
  expect(after('held')).toMatchObject({ attempts: 0, wait: { due: 5_000 } })
  expect(after('status')).toMatchObject({ outcome: { _tag: 'Expired' } })
})

const none$: ObservableEither<never, string> = EMPTY
const failed = { attempts: 2, lastFailure: retryable('status') }

it('what holds an item back is no attempt, and says nothing of how the last one failed', () => {
  const entry = { ...newEntry('1', 'a'), firstAttemptAt: 0, progress: failed }
  const failure = (notBefore: number) => allFailed([{ sink: 's', failure: retryable('held', { notBefore }) }])
  const held = (at: number) => decide(deadline(1_000), entry, 7, left(failure(at)), 8, () => 0)
  const wait = { due: 50, progress: { lastFailure: { _tag: 'AllFailed' } } }
  expect(held(50)).toMatchObject({ attempts: 2, entry: { progress: failed }, wait })
  expect(held(5_000)).toMatchObject({ outcome: { attempts: 2, failure: { because: 'deadline', ...failed } } })
})

it.each([
  [999, 'Delivered', 3, 1, failed],
  [1_000, 'Expired', 2, 0, failed],
  [999, 'Delivered', 1, 1, undefined],
  [1_000, 'Expired', 1, 0, undefined],
])(
  'after a restart %i ms after its first attempt an item with a deadline of 1,000 ms is %s',
  async (ms, tag, attempts, sent, progress) => {
    const [clock, log] = [virtualClock(), new Set<string>()]
    const firstAttemptAt = clock.now()
    const outbox = memoryOutbox<string>({ sizeOf: () => 1, clock })
    await outbox.enqueue(['a'])
    const [entry] = await outbox.lease(firstAttemptAt, { count: 1, retries: 1 })
    if (entry === undefined) throw new Error('nothing is leased')
    await outbox.nack([{ entry: { ...entry, firstAttemptAt, progress }, due: firstAttemptAt + ms }])
    clock.tick(ms)
    const sink = scriptedSink<string>({ clock })
    const retry = both(exponential({ base: 1 }), deadline(1_000))
    const outcome$ = none$.pipe(deliver(sink, { outbox, retry, clock, onEvent: (e) => log.add(e._tag) }))
    const outcome = await clock.run(lastValueFrom(outcome$, { defaultValue: undefined }))
    const end = { ...outcome, sent: sink.calls.length, isWell: !log.has('Defect') }
    expect(end).toMatchObject({ _tag: tag, attempts, sent, isWell: true })
    for (const { attempt } of sink.calls) expect(attempt.until).toBe(firstAttemptAt + 1_000)
  },
)
