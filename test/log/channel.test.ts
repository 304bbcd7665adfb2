import diagnostics from 'node:diagnostics_channel'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { channel } from '../../src/log/channel.ts'
import type { LogEvent } from '../../src/log/logEvent.ts'
import { happenings } from './happenings.ts'

const run = promisify(execFile)

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

type Listener = (message: unknown, name: string | symbol) => void

const subscribed: Array<readonly [string, Listener]> = []
const subscribe = (name: string, listener: Listener): void => {
  subscribed.push([name, listener])
  diagnostics.subscribe(name, listener)
}

afterEach(() => {
  for (const [name, listener] of subscribed.splice(0)) diagnostics.unsubscribe(name, listener)
})

const accepted: LogEvent = { _tag: 'Accepted', at: 3, item: 'a' }

describe('channel', () => {
  it('publishes each kind on its own channel, as it is', () => {
    const seen: unknown[] = []
    const names = ['refusedAtDoor', 'accepted', 'attempted', 'passedOver', 'waiting', 'ended', 'defect']
    for (const name of names) {
      subscribe(`headrace:${name}`, (message, on) => {
        seen.push(message)
        const tag = (message as LogEvent)._tag
        expect(on).toBe(`headrace:${tag.charAt(0).toLowerCase()}${tag.slice(1)}`)
      })
    }
    happenings.forEach(channel)
    expect(seen).toEqual(happenings)
  })

  it('publishes nothing when nobody listens, and again after everybody left', () => {
    const seen: unknown[] = []
    const listener = (message: unknown): void => {
      seen.push(message)
    }
    channel(accepted)
    diagnostics.subscribe('headrace:accepted', listener)
    diagnostics.subscribe('headrace:accepted', listener)
    channel(accepted)
    expect(seen).toHaveLength(2)
    expect(diagnostics.unsubscribe('headrace:accepted', listener)).toBe(true)
    expect(diagnostics.unsubscribe('headrace:accepted', listener)).toBe(true)
    expect(diagnostics.unsubscribe('headrace:accepted', listener)).toBe(false)
    channel(accepted)
    expect(seen).toHaveLength(2)
    expect(diagnostics.hasSubscribers('headrace:accepted')).toBe(false)
  })

  it('contains a subscriber that throws or rejects, tells the others, and says so', async () => {
    const seen: unknown[] = []
    const defects: unknown[] = []
    subscribe('headrace:accepted', () => {
      throw new Error('oops')
    })
    const rejects: () => unknown = () => Promise.reject(new Error('later'))
    subscribe('headrace:accepted', rejects)
    subscribe('headrace:accepted', (message) => seen.push(message))
    subscribe('headrace:defect', (message) => defects.push(message))
    subscribe('headrace:defect', () => {
      throw new Error('a defect of who listens to defects ends there')
    })
    const uncaught: unknown[] = []
    const catcher = (error: unknown): void => {
      uncaught.push(error)
    }
    process.on('uncaughtException', catcher)
    channel(accepted)
    await turn()
    process.off('uncaughtException', catcher)
    expect(uncaught).toEqual([])
    expect(seen).toEqual([accepted])
    expect(defects).toEqual([
      { _tag: 'Defect', at: 3, where: 'subscriber of headrace:accepted', error: new Error('oops') },
      { _tag: 'Defect', at: 3, where: 'subscriber of headrace:accepted', error: new Error('later') },
    ])
  })

  it('refuses what is no function as Node does', () => {
    expect(() => {
      // Not a listener, on purpose.
      diagnostics.subscribe('headrace:accepted', 'no' as unknown as Listener)
    }).toThrow(TypeError)
  })

  it('is needed: Node ends the process for a subscriber that throws', async () => {
    const script = `
      const { channel, subscribe } = require('node:diagnostics_channel')
      subscribe('other', () => { throw new Error('oops') })
      channel('other').publish(1)
      setTimeout(() => console.log('alive'), 10)`
    await expect(run(process.execPath, ['-e', script])).rejects.toMatchObject({ code: 1, stdout: '' })
  })
})
