import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterEach, describe, expect, it } from 'vitest'
import { hearing } from '../../src/observe/hearing.ts'

const debug = process.env['DEBUG']
afterEach(() => {
  if (debug === undefined) delete process.env['DEBUG']
  else process.env['DEBUG'] = debug
})

describe('hearing', () => {
  it('says who listens: nobody, a subscriber of that channel for as long as it is one, a tell, the runtime log', () => {
    delete process.env['DEBUG']
    const hears = hearing({})
    const listener = (): void => undefined
    expect([hears('Accepted'), hears('Ended')]).toEqual([false, false])
    subscribe('headrace:ended', listener)
    expect([hears('Accepted'), hears('Ended')]).toEqual([false, true])
    unsubscribe('headrace:ended', listener)
    expect(hears('Ended')).toBe(false)
    expect(hearing({ logger: console })('Accepted')).toBe(false)
    expect(hearing({ tell: listener })('Accepted')).toBe(true)
    process.env['DEBUG'] = 'analytics'
    expect(hearing({})('Accepted')).toBe(true)
    process.env['DEBUG'] = ''
    expect(hearing({})('Accepted')).toBe(false)
  })
})
