import { describe, expect, it } from 'vitest'
import { createCollector } from '../../src/collector/createCollector.ts'
import type { CollectorOptions } from '../../src/collector/collector.ts'
import { ConfigError } from '../../src/core/refusal.ts'
import { settings } from './setting.ts'
import { memory } from '../../src/sink/memory.ts'

const right = settings(memory())

const pathsOf = (options: unknown, given: unknown = right): ReadonlyArray<string> => {
  try {
    // What callers without types may write.
    createCollector(given as typeof right, options as CollectorOptions)
  } catch (error) {
    if (error instanceof ConfigError) return error.faults.map(({ path }) => path)
    throw error
  }
  return []
}

describe('options of a collector that are wrong', () => {
  it.each<[string, unknown]>([
    ['nope', 1],
    ['whenfull', 'refuse'],
    ['whenFull', 'x'],
    ['tell', 5],
    ['newId', 5],
    ['random', 0.5],
    ['orderBy', 'userId'],
    ['outbox', 5],
    ['outbox', { path: 'x' }],
    ['logger', 5],
    ['logger', true],
    ['logger', { debug: 1, info: 1, warn: 1, error: 1 }],
    ['clock', {}],
    ['clock', null],
    ['retry', {}],
    ['retry', { _tag: 'Nope' }],
    ['egress', 'x'],
    ['statuses', 5],
    ['timeout', '5'],
    ['maxInFlight', 0],
    ['maxBody', Infinity],
  ])('are named: %s %o', (name, value) => {
    expect(pathsOf({ [name]: value })).toEqual([name])
  })

  it('are named all at once, with what is wrong with the settings', () => {
    expect(pathsOf({ maxBatch: 0, onEvent: 'x', whenfull: 'refuse' }, { ...right, destinations: 5 })).toEqual(
      ['destinations', 'tell', 'maxBatch', 'whenfull'],
    )
    expect(pathsOf({ egress: { to: 'x' } })).toEqual(['egress.to'])
  })

  it.each([null, 5, 'x', []])('are no options at all: %o', (options) => {
    expect(pathsOf(options)).toEqual([''])
  })

  it('cannot be read', () => {
    const thrower = {
      get onEvent() {
        return expect.unreachable()
      },
    }
    expect(pathsOf(thrower)).toEqual([''])
  })

  it('and those that are right are taken', () => {
    expect(
      pathsOf({ logger: false, whenFull: 'refuse', maxBatch: 1, egress: 'public', onEvent: undefined }),
    ).toEqual([])
  })
})
