/** TP3: a store that does not answer in time, for each call of it. */
import * as fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Message } from '../../src/client/index.ts'
import type { Payload } from '../../src/index.ts'
import { memoryOutbox, type Outbox } from '../../src/outbox/index.ts'
import type { Event } from '../../src/event/index.ts'
import { storeLimit } from '../../src/outbox/storeLimit.ts'
import { virtualClock } from '../../src/testing/index.ts'
import { event, open as openClient } from '../client/virtual.ts'
import { busy, open, track, yes } from '../destination/virtual.ts'
import { forAllAsync, machineTime } from '../support/check.ts'

const never = (): Promise<never> => new Promise(() => undefined)

it('storeLimit fails what is open when it is given up, and what comes afterwards', async () => {
  const { inTime, giveUp } = storeLimit()
  const open = expect(inTime(never())).rejects.toThrow('closed')
  giveUp(new Error('closed'))
  await open
  await expect(inTime(Promise.resolve(1))).rejects.toThrow('closed')
})

describe('a store that hangs', () => {
  let machine = virtualClock()
  beforeEach(() => void (machine = virtualClock()))
  machineTime(() => machine)
  const LIMIT = 30_000

  const over = (change: (all: Outbox<Payload<Event>>) => Partial<Outbox<Payload<Event>>>, maxCount = 10) => {
    const memory = memoryOutbox<Payload<Event>>({ maxCount })
    return open([() => ({ verdict: yes })], { outbox: { ...memory, ...change(memory) } })
  }

  it('answers NotStored when enqueue does not answer, with a Defect', async () => {
    const { destination, defects, clock } = over(() => ({ enqueue: never }), 1)
    const answer = destination.send(track('a'))
    let isReady = false
    void destination.ready().then(() => (isReady = true))
    await machine.advance(LIMIT - 1)
    expect([defects(), isReady, destination.occupancy().bytes > 0]).toEqual([[], false, true])
    await machine.advance(1)
    const detail = 'the store did not answer within 30000 ms'
    expect(await answer).toMatchObject({ left: { _tag: 'NotStored', detail } })
    expect([defects(), isReady]).toEqual([['outbox'], true])
    expect(destination.stats()).toMatchObject({ accepted: 0, refused: 1, waiting: 0 })
    expect(await destination.idle()).toMatchObject({ waiting: 0 })
    await clock.run(destination.close())
  })

  it.each(['enqueue', 'lease', 'ack', 'takeRemaining'] as const)(
    'settles idle and send with the close when %s does not answer',
    async (call) => {
      const { destination, clock } = over(() => ({ [call]: never }))
      const answer = destination.send(track('a'))
      await machine.advance(0)
      const idle = destination.idle()
      await clock.run(destination.close({ timeout: 200 }))
      expect((await answer)._tag).toBe(call === 'enqueue' ? 'Left' : 'Right')
      await idle
      const { accepted, delivered, abandoned, waiting } = destination.stats()
      expect(accepted - delivered - abandoned - waiting).toBe(0)
      expect(waiting).toBeGreaterThanOrEqual(0)
      expect(clock.monotonic()).toBeLessThanOrEqual(5_701)
      expect([machine.pending(), clock.pending()]).toEqual([0, 0])
    },
  )

  it.each(['lease', 'enqueue'] as const)('starts what a late answer of %s brings once', async (call) => {
    let answer = (): void => undefined
    let calls = 0
    const { destination, ended, clock, defects } = over((memory) => ({
      [call]: (...given: ReadonlyArray<never>) => {
        const ask = memory[call] as (...same: ReadonlyArray<never>) => unknown
        return ++calls > 1 ? [] : new Promise((resolve) => (answer = () => resolve(ask(...given))))
      },
    }))
    void destination.send(track('a'))
    await machine.advance(LIMIT)
    expect([defects(), ended()]).toEqual([['outbox'], []])
    answer()
    await clock.advance(0)
    expect(ended()).toEqual(['Delivered a'])
    await clock.advance(10_000)
    expect(ended()).toEqual(['Delivered a'])
    await clock.run(destination.close())
  })

  // Entries are leased before their enqueue is answered. It may fail although the item is stored.
  const lateAnswers = fc.array(fc.record({ after: fc.nat(30), fails: fc.boolean() }), {
    minLength: 1,
    maxLength: 8,
  })
  it('counts each item that is stored once, with at least 0 waiting at every moment', () =>
    forAllAsync(lateAnswers, async (answers) => {
      const { clock, destination, ended } = over(({ enqueue }) => ({
        enqueue: (items) => {
          const stored = enqueue(items)
          const { after = 0, fails = false } = answers[Number(items[0]?.id)] ?? {}
          return new Promise((resolve, reject) =>
            clock.schedule(after, fails ? () => reject(new Error('planted')) : () => resolve(stored)),
          )
        },
      }))
      const waiting: number[] = []
      const look = (): void => void waiting.push(destination.stats().waiting)
      destination.outcomes$.subscribe(look)
      const ids = [...answers.keys(), answers.length].map(String)
      for (const id of ids.slice(0, -1)) void destination.send(track(id)).then(look)
      await clock.advance(30)
      // Its answer makes the destination look once more.
      const last = destination.send(track(ids.at(-1) ?? '')).then(() => destination.stats().accepted)
      await clock.advance(0)
      expect(await last).toBe(ids.length)
      expect(ended().toSorted()).toEqual(ids.map((id) => `Delivered ${id}`))
      expect(destination.stats()).toMatchObject({ accepted: ids.length, waiting: 0 })
      expect(Math.min(...waiting)).toBe(0)
      await clock.run(destination.close())
    }))

  it.each([1_500, Infinity])('counts once what it stores %d ms before its answer', async (after) => {
    const memory = memoryOutbox<Message>()
    const enqueue: typeof memory.enqueue = (items) => {
      const answers = memory.enqueue(items)
      return new Promise((done) => void machine.schedule(after, () => done(answers)))
    }
    const { client, clock, ended } = openClient({ outbox: { ...memory, enqueue } }, () => ({ verdict: busy }))
    await machine.advance(0)
    client.track(event('a'))
    const flushed = client.flush()
    await machine.advance(0)
    const { bytes } = client.stats()
    await clock.advance(2_000)
    const retried = { attempts: 2, bytes, notPersisted: 0 }
    expect(client.stats()).toMatchObject(retried)
    await machine.advance(1_500)
    expect(client.stats()).toMatchObject(retried)
    await clock.run(client.close({ timeout: 0 }))
    await flushed
    expect(ended()).toEqual(['Abandoned a'])
    expect(client.stats()).toMatchObject({ accepted: 1, abandoned: 1, waiting: 0 })
  })
})
