import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterEach, describe, expect, it } from 'vitest'
import { isListening } from '../../src/log/logEvent.ts'

const debug = process.env['DEBUG']
afterEach(() => {
  if (debug === undefined) delete process.env['DEBUG']
  else process.env['DEBUG'] = debug
})

describe('hearing', () => {
  it('says who listens: nobody, a subscriber of that channel for as long as it is one, a tell, the runtime log', () => {
    delete process.env['DEBUG']
    const hears = isListening({})
    const listener = (): void => undefined
    expect([hears('Accepted'), hears('Ended')]).toEqual([false, false])
    subscribe('headrace:ended', listener)
    expect([hears('Accepted'), hears('Ended')]).toEqual([false, true])
    unsubscribe('headrace:ended', listener)
    expect(hears('Ended')).toBe(false)
    expect(isListening({ logger: console })('Accepted')).toBe(false)
    expect(isListening({ onEvent: listener })('Accepted')).toBe(true)
    process.env['DEBUG'] = 'analytics'
    expect(isListening({})('Accepted')).toBe(true)
    process.env['DEBUG'] = ''
    expect(isListening({})('Accepted')).toBe(false)
  })
})
