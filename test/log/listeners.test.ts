import diagnostics from 'node:diagnostics_channel'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { constVoid } from '../../src/core/either.ts'
import { allListeners, callSafely, channel, isListening } from '../../src/log/listeners.ts'
import type { Listener, LogEvent } from '../../src/log/logEvent.ts'
import { turns, throwing } from '../support/check.ts'
import { logEvents } from './events.ts'

const throws = throwing('oops')
// The type of a listener answers nothing; an async function fits it all the same.
const rejects: () => unknown = () => Promise.reject(new Error('oops'))
const accepted: LogEvent = { _tag: 'Accepted', at: 3, from: 'test', item: 'a' }
const defect: LogEvent = { _tag: 'Defect', at: 3, from: 'test', where: 'x', error: undefined }

describe('allListeners', () => {
  it.each<[string, Listener]>([
    ['throws', throws],
    ['returns a promise that rejects', rejects],
  ])('gives the others every event and the error when one %s', async (_what, bad) => {
    const [before, after]: [LogEvent[], LogEvent[]] = [[], []]
    const last: Listener = (event) => after.push(event)
    const onEvent = allListeners((event) => before.push(event), allListeners(bad), undefined, last)
    onEvent(accepted)
    onEvent(defect)
    await turns()
    const report = { _tag: 'Defect', at: 3, from: 'test', where: 'onEvent', error: new Error('oops') }
    for (const seen of [before, after]) {
      expect(seen).toHaveLength(3)
      expect(seen).toEqual(expect.arrayContaining([accepted, defect, report]))
    }
  })

  it('ends when all listeners throw, and works without any', () => {
    allListeners(throws, throws, throws)(accepted)
    allListeners()(accepted)
    expect(() => allListeners({ onEvent: throws } as never)).toThrow(/a function, got an object: give its/)
  })
})

it('callSafely drops an error of the report', async () => {
  callSafely(throws, 0, throws)
  callSafely(rejects, 0, throws)
  await turns()
})

it('channel publishes each kind on its own channel', () => {
  const seen: unknown[] = []
  const listener = (message: unknown, name: string | symbol): void => {
    seen.push(message)
    expect(String(name).toLowerCase()).toBe(`headrace:${(message as LogEvent)._tag.toLowerCase()}`)
  }
  const kinds =
    'notAccepted unknownKeys accepted redriven restored corrupt skipped held attempted urlSkipped waiting ended defect'
  const names = kinds.split(' ')
  for (const name of names) diagnostics.subscribe(`headrace:${name}`, listener)
  logEvents.forEach(channel)
  for (const name of names) diagnostics.unsubscribe(`headrace:${name}`, listener)
  logEvents.forEach(channel)
  expect(seen).toEqual(logEvents)
})

// As `headrace:refused` until 1.0.
it('gives refusals to the channel of their name before', () => {
  const seen: unknown[] = []
  const listener = (message: unknown): void => void seen.push(message)
  const hears = isListening({})
  expect(hears('NotAccepted')).toBe(false)
  diagnostics.subscribe('headrace:refused', listener)
  expect([hears('NotAccepted'), hears('Ended')]).toEqual([true, false])
  logEvents.forEach(channel)
  diagnostics.unsubscribe('headrace:refused', listener)
  expect(seen).toEqual(logEvents.filter(({ _tag }) => _tag === 'NotAccepted'))
})

afterEach(() => void vi.unstubAllEnvs())

it('isListening is true for onEvent, for DEBUG, and for the channel of that kind while it has subscribers', () => {
  vi.stubEnv('DEBUG', undefined)
  const hears = isListening({})
  const listener = (): void => undefined
  expect([hears('Accepted'), hears('Ended')]).toEqual([false, false])
  diagnostics.subscribe('headrace:ended', listener)
  expect([hears('Accepted'), hears('Ended')]).toEqual([false, true])
  diagnostics.unsubscribe('headrace:ended', listener)
  expect(hears('Ended')).toBe(false)
  for (const deaf of [{ logger: console }, { onEvent: constVoid }])
    expect(isListening(deaf)('Accepted')).toBe(false)
  expect(isListening({ onEvent: listener })('Accepted')).toBe(true)
  vi.stubEnv('DEBUG', 'analytics')
  expect(isListening({})('Accepted')).toBe(true)
  vi.stubEnv('DEBUG', '')
  expect(isListening({})('Accepted')).toBe(false)
})
