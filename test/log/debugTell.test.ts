import { createRequire } from 'node:module'
import { format, stripVTControlCharacters } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import type createDebug from 'debug'
import { debugListener } from '../../src/log/debug.ts'
import { happenings, SECRET } from './happenings.ts'

const require = createRequire(import.meta.url)
const before = process.env['DEBUG']

const isLoaded = (): boolean =>
  Object.keys(require.cache).some((path) => path.endsWith('/debug/src/index.js'))

/** What is written with `DEBUG` set to this. */
const written = (namespaces: string): ReadonlyArray<string> => {
  process.env['DEBUG'] = namespaces
  const onEvent = debugListener()
  // The package that its types describe.
  const debug = require('debug') as typeof createDebug
  const lines: string[] = []
  const log = debug.log
  debug.log = (...args: ReadonlyArray<unknown>) => {
    lines.push(stripVTControlCharacters(format(...args)))
  }
  debug.enable(namespaces)
  for (const event of happenings) onEvent?.(event)
  debug.disable()
  debug.log = log
  return lines
}

afterEach(() => {
  if (before === undefined) delete process.env['DEBUG']
  else process.env['DEBUG'] = before
})

describe('debugListener', () => {
  it('is nothing and loads nothing without DEBUG', () => {
    delete process.env['DEBUG']
    expect(debugListener()).toBeUndefined()
    process.env['DEBUG'] = ''
    expect(debugListener()).toBeUndefined()
    expect(isLoaded()).toBe(false)
  })

  it.each(['analytics', 'headrace:*', '*'])(
    'writes one line for each happening with DEBUG=%s',
    (namespaces) => {
      const lines = written(namespaces)
      expect(lines).toHaveLength(happenings.length)
      expect(lines[1]).toContain('m1: accepted')
      expect(lines.join()).not.toContain(SECRET)
    },
  )

  it('writes only the kinds that are asked for, under their own name', () => {
    const lines = written('headrace:passedOver')
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain('headrace:passedOver m1: attempt 3')
  })

  it('writes nothing for somebody else', () => {
    expect(written('express:*')).toEqual([])
  })
})
