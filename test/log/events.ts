import { left, right } from 'fp-ts/lib/Either.js'
import type { Attempted, LogEvent } from '../../src/log/logEvent.ts'
import { expired, refused, retryable, type Failure } from '../../src/core/failure.ts'
import * as Outcome from '../../src/core/outcome.ts'
import { invalid, threw } from '../../src/core/refusal.ts'

/** Part of everything that must not be logged. */
export const SECRET = 'zqSECRETqz'
export const payload = { id: 'm1', byteLength: 12, text: SECRET, items: [SECRET] }

export const attempted = (sink: string, at: number, failure?: Failure): Attempted => {
  const result = failure === undefined ? right({ sink, status: 200 }) : left(failure)
  const times = { at, startedAt: at - 12, duration: 12.4 }
  return { _tag: 'Attempted', ...times, from: 'test', item: payload, sink, number: 2, result }
}

const timeout = retryable('timeout', { detail: 'no verdict within 5000 ms' })
const gone = refused('status', { status: 404 })
const error = new TypeError(`${SECRET}\n    at ${SECRET} (${SECRET}:1:1)`)
const told = { at: 1, from: 'test' }
const because = 'Retry-After'
const faults = [{ path: 'userId', message: 'must be a string' }]

export const logEvents: ReadonlyArray<LogEvent> = [
  { _tag: 'NotAccepted', ...told, refusal: invalid(SECRET, faults) },
  { _tag: 'NotAccepted', ...told, refusal: invalid({ messageId: 'm2', userId: SECRET }, faults) },
  { _tag: 'Accepted', ...told, item: payload },
  { _tag: 'Accepted', ...told, item: SECRET },
  { _tag: 'Redriven', ...told, ids: ['1', '2'] },
  { _tag: 'Restored', ...told, count: 1 },
  { _tag: 'Corrupt', ...told, id: '7' },
  { _tag: 'Skipped', ...told, item: SECRET },
  { _tag: 'NotAccepted', ...told, refusal: threw(SECRET, 'mapRight', new Error(SECRET)) },
  { _tag: 'Held', ...told, item: payload, sink: 'a', number: 1, until: 31, because: 'rate' },
  attempted('a', 1),
  attempted('a', 1, timeout),
  { _tag: 'UrlSkipped', ...told, item: payload, sink: 'a', number: 3 },
  { _tag: 'Waiting', ...told, item: payload, attempts: 1, failure: timeout, delay: 800, because },
  { _tag: 'Ended', ...told, outcome: Outcome.delivered(payload, 1, { sink: 'a' }) },
  { _tag: 'Ended', ...told, outcome: Outcome.rejected(payload, 2, gone) },
  { _tag: 'Ended', ...told, outcome: Outcome.expired(payload, expired(33, 0, timeout, 'deadline')) },
  { _tag: 'Ended', ...told, outcome: Outcome.dropped(payload, 0, 'dropOldest') },
  { _tag: 'Ended', ...told, outcome: Outcome.abandoned(payload, 1, timeout) },
  { _tag: 'Ended', ...told, outcome: Outcome.abandoned(payload, 0, undefined) },
  { _tag: 'Defect', ...told, where: 'my sink', error },
]
