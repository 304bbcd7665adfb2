/** The times that a host gives to flush and close, and what never ends. */
import { describe, expect, it } from 'vitest'
import type { MessageBatch } from '../../src/client/Message.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import { open as openCollector } from '../collector/setting.ts'
import { open as openDestination, track } from '../destination/virtual.ts'
import { busy, event, open, yes } from './virtual.ts'

const anything = (value: unknown): never => value as never

const fickle = {
  get timeout() {
    throw new Error('a planted error')
  },
}

const wrong: ReadonlyArray<readonly [string, unknown]> = [
  ['a text', { timeout: '2000' }],
  ['no number', { timeout: Number.NaN }],
  ['a negative one', { timeout: -1 }],
  ['null for it', { timeout: null }],
  ['a getter that throws', fickle],
  ['a number for the options', 2_000],
]

describe('a timeout that is none', () => {
  it.each(wrong)('of close: %s is told, and the default is taken', async (_, options) => {
    const { client, clock, defects } = open({ size: 1 }, (_batch, number) => ({
      verdict: number < 4 ? busy : yes,
    }))
    client.track(event('a'))
    const closing = client.close(anything(options))
    await clock.advance(60_000)
    expect(await closing).toMatchObject({ totals: { delivered: 1, waiting: 0 } })
    expect(defects()).toEqual(['the timeout of close'])
  })

  it.each(wrong)('of flush: %s is told, and it waits for the outcomes', async (_, options) => {
    const { client, clock, defects } = open({}, () => ({ verdict: yes, after: 3_000 }))
    client.track(event('a'))
    const flushed = client.flush(anything(options))
    await clock.advance(3_000)
    expect(await flushed).toMatchObject({ delivered: 1, waiting: 0 })
    expect(defects()).toEqual(['the timeout of flush'])
  })

  it.each(wrong)('of a destination’s close: %s', async (_, options) => {
    const { destination, clock, defects } = openDestination([() => ({ verdict: yes, after: 3_000 })])
    await destination.send(track('a'))
    const closing = destination.close(anything(options))
    await clock.advance(3_000)
    expect(await closing).toMatchObject({ totals: { delivered: 1 } })
    expect(defects()).toEqual(['the timeout of close'])
  })

  it('no options are no mistake, and Infinity is a time', async () => {
    for (const options of [null, undefined, {}, { timeout: undefined }, { timeout: Infinity }]) {
      const { client, clock, defects } = open({}, () => ({ verdict: yes, after: 3_000 }))
      client.track(event('a'))
      const flushed = client.flush(anything(options))
      await clock.advance(3_000)
      expect(await flushed).toMatchObject({ delivered: 1 })
      expect((await client.close(anything(options))).abandoned).toEqual([])
      expect(
        await openDestination([() => ({ verdict: yes })]).destination.close(anything(options)),
      ).toMatchObject({ abandoned: [] })
      expect(defects()).toEqual([])
    }
  })

  it('of a collector: text is told, and null is nothing', async () => {
    const wheres: string[] = []
    const onEvent: NonNullable<Parameters<typeof openCollector>[0]>['onEvent'] = (happening) => {
      if (happening._tag === 'Defect') wheres.push(happening.where)
    }
    await openCollector({ onEvent }).collector.close(anything({ timeout: '5' }))
    expect(wheres).toHaveLength(1)
    await openCollector({ onEvent }).collector.close(anything(null))
    expect(wheres).toHaveLength(1)
  })
})

describe('a store whose close never answers', () => {
  it('keeps a client from its end only as long as a request may take, and is told', async () => {
    const outbox = {
      ...memoryOutbox<MessageBatch>(),
      close: () => new Promise<void>(() => undefined),
    }
    const { client, clock, defects } = open({ outbox, timeout: 500 })
    const closing = client.close()
    await clock.advance(499)
    expect(defects()).toEqual([])
    await clock.advance(1)
    expect(await closing).toMatchObject({ abandoned: [] })
    expect(defects()).toEqual(['the close of the outbox'])
    expect(clock.pending()).toBe(0)
  })
})
