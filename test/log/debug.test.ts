import { createRequire } from 'node:module'
import { format, stripVTControlCharacters } from 'node:util'
import * as fc from 'fast-check'
import type createDebug from 'debug'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { debugListener, logLine } from '../../src/log/debug.ts'
import { logEvents, SECRET } from './events.ts'
import { forAll } from '../support/check.ts'

describe('logLine', () => {
  it('says what happened, without the data', () => {
    const lines = logEvents.map(logLine)
    expect(lines.slice(0, -1)).toEqual([
      'not accepted: userId: must be a string',
      'm2: not accepted: userId: must be a string',
      ...['m1: accepted', 'accepted', 'redriven: 2 dead letters', 'restored: 1 item of an earlier run'],
      'the stored record 7 cannot be read; it is a dead letter now',
      ...['skipped', 'not accepted: the function of mapRight threw Error'],
      ...['m1: attempt 1 at a: held for 30 ms (rate)', 'm1: attempt 2 at a: delivered 200 in 12 ms'],
      'm1: attempt 2 at a: timeout, no verdict within 5000 ms in 12 ms',
      'm1: attempt 3 at a: skipped, its queue is full',
      'm1: waits 800 ms (Retry-After) after 1 attempt: timeout, no verdict within 5000 ms',
      ...['m1: delivered to a after 1 attempt', 'm1: rejected after 2 attempts: status 404'],
      'm1: expired at its deadline, after 33 attempts, last: timeout, no verdict within 5000 ms',
      'm1: dropped (dropOldest)',
      'm1: abandoned after 1 attempt, last: timeout, no verdict within 5000 ms',
      'm1: abandoned after 0 attempts',
    ])
    expect(lines.at(-1)).toMatch(/^defect in my sink: TypeError at .*events\.ts:\d+:\d+\)?$/)
    expect(lines.join()).not.toContain(SECRET)
  })

  it('is one line, whatever an id contains', () =>
    forAll(fc.string({ unit: fc.constantFrom('a', '\n', '\r', '\u001b', '\u2028', '\u0085', 'é') }), (id) => {
      const line = logLine({ _tag: 'Accepted', at: 0, from: 'test', item: { id, byteLength: 1 } })
      expect(line).toMatch(/^[^\p{Cc}\u2028\u2029]*$/u)
    }))
})

const require = createRequire(import.meta.url)
const loaded = () => Object.keys(require.cache).filter((path) => path.endsWith('/debug/src/index.js'))

/** What is written with `DEBUG` set to this. */
const written = (namespaces: string): ReadonlyArray<string> => {
  vi.stubEnv('DEBUG', namespaces)
  const onEvent = debugListener()
  // The package that its types describe.
  const debug = require('debug') as typeof createDebug
  const lines: string[] = []
  const log = debug.log
  debug.log = (...args: ReadonlyArray<unknown>) => lines.push(stripVTControlCharacters(format(...args)))
  debug.enable(namespaces)
  for (const event of logEvents) onEvent?.(event)
  debug.disable()
  debug.log = log
  return lines
}

afterEach(() => void vi.unstubAllEnvs())

describe('debugListener', () => {
  it('is undefined and loads nothing without DEBUG', () => {
    // Another file of this worker may have loaded it.
    for (const path of loaded()) Reflect.deleteProperty(require.cache, path)
    vi.stubEnv('DEBUG', undefined)
    expect(debugListener()).toBeUndefined()
    vi.stubEnv('DEBUG', '')
    expect(debugListener()).toBeUndefined()
    expect(loaded()).toEqual([])
  })

  const all = logEvents.length
  it.each([
    ['analytics', all, 'm1: accepted'],
    ['headrace:*', all, 'm1: accepted'],
    ['*', all, 'm1: accepted'],
    ['headrace:urlSkipped', 1, 'headrace:urlSkipped m1: attempt 3'],
    ['express:*', 0, ''],
  ])('writes the kinds that DEBUG=%s names: %i lines', (namespaces, count, part) => {
    const lines = written(namespaces)
    expect(lines).toHaveLength(count)
    expect(lines.join()).toContain(part)
    expect(lines.join()).not.toContain(SECRET)
  })
})
