import { left, right } from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, expect, expectTypeOf, it, vi } from 'vitest'
import { allFailed, partlyFailed, refused, retryable, type Failure } from '../../src/index.ts'
import { toLogger, type LogEvent, type Logger } from '../../src/log/index.ts'
import { full, invalid } from '../../src/core/refusal.ts'
import * as Outcome from '../../src/core/outcome.ts'
import { attempted, logEvents, SECRET } from './events.ts'
import { forAll } from '../support/check.ts'

const [A, B] = ['https://a.example', 'https://b.example'] as const
const timeout = retryable('timeout', { detail: 'no verdict within 5000 ms' })
const abandoned = Outcome.abandoned('a', 2, timeout)
const certificate = refused('certificate', { detail: 'self-signed' })
const unavailable = retryable('status', { status: 503 })

const logged = (options?: { readonly quiet: number }) => {
  const lines: string[] = []
  const log = (level: string) => (message: string, fields?: object) => {
    expect(message).toMatch(/^headrace: /)
    lines.push(`${level} ${message.slice('headrace: '.length)}`)
    expect(JSON.stringify(fields)).not.toContain(SECRET)
    return Promise.reject(new Error('an async method, in spite of its type')) as unknown as undefined
  }
  const logger: Logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') }
  return { lines, onEvent: toLogger(logger, options) }
}

describe('toLogger', () => {
  it('remembers 1,000 places of defects', () => {
    const { lines, onEvent } = logged()
    for (const at of [...Array(1_001).keys(), 0])
      onEvent({ _tag: 'Defect', at: 0, from: 'mine', where: `place ${at}`, error: 'x' })
    expect(lines).toHaveLength(1_002)
  })

  it('logs 1,000 sinks that fail once each, and more of them with one line for each time of quiet', () => {
    const { lines, onEvent } = logged()
    const failing = (at: number, from: number, end: number): number => {
      for (let n = from; n < end; n++) {
        const failure = retryable('status', { status: 503, detail: String(at + n) })
        onEvent(attempted(`${A}/${String(n)}`, at, failure))
      }
      return lines.length
    }
    expect([1, 2, 3].map((at) => failing(at, 0, 1_010))).toEqual([1_001, 1_001, 1_001])
    expect([failing(60_002, 0, 1_010), failing(60_003, 0, 1_010)]).toEqual([1_002, 1_002])
    // Those that have not failed for a minute make room.
    expect([failing(130_000, 900, 1_010), failing(130_001, 900, 1_010)]).toEqual([1_012, 1_012])
  })

  const skipped: LogEvent = { _tag: 'UrlSkipped', at: 0, from: 'test', item: 1, sink: A, number: 1 }
  const both = allFailed([
    { sink: 'x', failure: unavailable },
    { sink: 'y', failure: certificate },
  ])
  const someFailed = partlyFailed([left(unavailable), right({ sink: 'x' })])
  const each = (...failures: ReadonlyArray<Failure>) => failures.map((failure) => attempted(A, 1, failure))
  it.each<[string, ReadonlyArray<LogEvent>, ReadonlyArray<string>, number?]>([
    [
      'a timeout and a certificate once, as errors, and the recovery with the count of failures',
      [
        ...Array.from({ length: 312 }, (_, i) => attempted(A, i * 1_000, timeout)),
        ...[attempted(B, 5, certificate), attempted(B, 6, certificate)],
        ...[attempted(A, 312_000), attempted(A, 313_000)],
      ],
      [
        `error ${A}: timeout, no verdict within 5000 ms`,
        `error ${B}: certificate, self-signed`,
        `info ${A} answers again after 312 failures`,
      ],
    ],
    [
      'each cause of a sink once, and again after the sink answered',
      [
        ...each(unavailable, timeout, unavailable, timeout, retryable('status', { status: 500 })),
        ...[attempted(A, 2), attempted(A, 3, unavailable), attempted(A, 4)],
      ],
      [
        ...[`warn ${A}: status 503`, `error ${A}: timeout, no verdict within 5000 ms`],
        ...[`warn ${A}: status 500`, `info ${A} answers again after 5 failures`],
        ...[`warn ${A}: status 503`, `info ${A} answers again after 1 failure`],
      ],
      0,
    ],
    [
      'a failure as an error if one part of it is serious',
      [attempted('both', 1, both), attempted('batch', 1, someFailed)],
      ['error both: x: status 503; y: certificate, self-signed', 'warn batch: 1 of 2 failed: status 503'],
    ],
    [
      'a full queue once, and counts no failure for it',
      [skipped, skipped, attempted(A, 1)],
      [`warn ${A}: its queue is full, so it skips some attempts`],
      0,
    ],
    [
      'once that attempts of a sink outlive their items',
      [7, 9].map((late) => ({ ...attempted(A, 1), late })),
      [`warn ${A}: an attempt ended 7 ms past the deadline of its item`],
    ],
    [
      'once that keys were left out, and which',
      ['propertes', 'evnt'].map((key) => ({ _tag: 'UnknownKeys', at: 0, from: 'test', keys: [key] })),
      ['warn unknown keys left out: propertes'],
    ],
    [
      'in one line what a close abandons',
      Array<LogEvent>(5_000).fill({ _tag: 'Ended', at: 0, from: 'test', outcome: abandoned }),
      ['warn abandoned after 2 attempts, last: timeout, no verdict within 5000 ms (and 4999 more)'],
    ],
  ])('logs %s', async (_, events, expected, quiet = 60_000) => {
    const { lines, onEvent } = logged({ quiet })
    events.forEach(onEvent)
    await Promise.resolve()
    expect(lines).toEqual(expected)
  })

  it('logs dead events, defects and each reason of a refusal once a minute, with their count', () => {
    const { lines, onEvent } = logged()
    const notFound = refused('status', { status: 404 })
    const wrong = invalid('a', [{ path: 'userId', message: 'is wrong' }])
    for (let i = 0; i <= 120; i++) {
      const told = { at: i * 1_000, from: 'test' }
      onEvent({ ...told, _tag: 'Ended', outcome: Outcome.rejected('item', 1, notFound) })
      onEvent({ ...told, _tag: 'Ended', outcome: Outcome.delivered('item', 1, { sink: A }) })
      onEvent({ ...told, _tag: 'Defect', where: 'my sink', error: 'thrown' })
      onEvent({ ...told, _tag: 'NotAccepted', refusal: full('a', 'count', 10) })
      onEvent({ ...told, _tag: 'NotAccepted', refusal: wrong })
    }
    const first = [
      'warn rejected after 1 attempt: status 404',
      'error defect in my sink: a thrown string',
      'warn not accepted: the queue is full (limit 10 items): wait for room, by ready() or pull',
      'warn not accepted: userId: is wrong',
    ]
    const later = first.map((line) => `${line} (and 59 more since the last line like this)`)
    expect(lines).toEqual([...first, ...later, ...later])
  })

  it('logs no data from outside', () => {
    const { lines, onEvent } = logged()
    logEvents.forEach(onEvent)
    expect(lines.length).toBeGreaterThan(3)
    expect(lines.join()).not.toContain(SECRET)
  })

  it('writes at most three lines in half a minute, whatever a sink does', () => {
    const cause = fc.constantFrom(timeout, unavailable, certificate, undefined, undefined)
    forAll(fc.array(cause, { minLength: 1, maxLength: 300, size: 'max' }), (results) => {
      const { lines, onEvent } = logged()
      // Ten a second: within half a minute at most.
      results.forEach((result, i) => onEvent(attempted(A, i * 100, result)))
      expect(lines.length).toBeLessThanOrEqual(3)
    })
  })

  it('logs at most 20 causes of one sink', () => {
    const { lines, onEvent } = logged()
    for (let status = 500; status < 600; status++) onEvent(attempted(A, 0, retryable('status', { status })))
    expect(lines).toHaveLength(20)
  })

  it('accepts console, and calls a logger with its own `this`', () => {
    expectTypeOf(console).toExtend<Logger>()
    const pinoLike = { ...console, warn: vi.fn() }
    toLogger(pinoLike)(attempted(A, 0, unavailable))
    expect(pinoLike.warn.mock.contexts.map((own) => own === pinoLike)).toEqual([true])
    expect(() => toLogger({} as Logger)).toThrow('must be a Logger')
  })
})
