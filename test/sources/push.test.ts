import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Either } from 'fp-ts/lib/Either.js'
import { ConfigError } from '../../src/core/refusal.ts'
import type { LogEvent } from '../../src/log/logEvent.ts'
import { push, type NotTaken, type Push } from '../../src/sources/push.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

describe('push', () => {
  it('holds 10,000 items by default', () => {
    const source = push<number>()
    for (let i = 0; i < 10_000; i++) source.offer(i)
    expect(source.stats().accepted).toBe(10_000)
    expect(source.offer(10_000)).toMatchObject({
      left: { _tag: 'Full', bound: 'count', limit: 10_000, input: 10_000 },
    })
  })

  it('holds 32 MiB by default, and no larger item', () => {
    const source = push<number>({ sizeOf: (size) => size })
    const most = 32 * 1024 * 1024
    expect(source.offer(most + 1)).toMatchObject({ left: { _tag: 'TooLarge', limit: most, size: most + 1 } })
    expect(source.offer(most)._tag).toBe('Right')
    expect(source.offer(1)).toMatchObject({ left: { _tag: 'Full', bound: 'bytes', limit: most } })
    expect(source.offer(0)._tag).toBe('Right')
  })

  it('lets producers that wait continue in order', async () => {
    const source = push<string>({ capacity: 1 })
    const produce = async (name: string): Promise<void> => {
      for (let i = 0; i < 3; i++) {
        await source.ready()
        while (source.offer(name + String(i))._tag === 'Left') await source.ready()
      }
    }
    const producers = Promise.all(['a', 'b', 'c'].map(produce))
    void producers.then(source.end)
    const came: string[] = []
    for await (const item of source) came.push(item)
    expect(came.slice(0, 3)).toEqual(['a0', 'b0', 'c0'])
    expect(new Set(came).size).toBe(9)
  })

  it('offers unused room to the next caller of ready', async () => {
    const source = push<number>({ capacity: 1 })
    source.offer(0)
    const through: string[] = []
    for (const name of ['a', 'b', 'c']) void source.ready().then(() => through.push(name))
    await turn()
    expect(through).toEqual([])
    await source[Symbol.asyncIterator]().next()
    for (let i = 0; i < 4; i++) await turn()
    expect(through).toEqual(['a', 'b', 'c'])
  })

  it('lets a large item wait until another item left', async () => {
    const source = push<number>({ maxBytes: 10, sizeOf: (size) => size })
    for (const size of [4, 4]) source.offer(size)
    expect(source.offer(5)).toMatchObject({ left: { bound: 'bytes' } })
    let ready = false
    void source.ready().then(() => {
      ready = true
    })
    await turn()
    expect(ready).toBe(false)
    await source[Symbol.asyncIterator]().next()
    await turn()
    expect([ready, source.offer(5)._tag]).toEqual([true, 'Right'])
  })

  it('reports an error of onDropped, and goes on', async () => {
    const told: LogEvent[] = []
    const clock = virtualClock({ start: 7 })
    const failing: Readonly<Record<string, () => unknown>> = {
      throws: () => {
        throw new Error('oops')
      },
      rejects: () => Promise.reject(new Error('oops')),
    }
    for (const onDropped of Object.values(failing)) {
      const source = push<number>({
        capacity: 1,
        overflow: 'dropOldest',
        clock,
        onEvent: (event) => told.push(event),
        onDropped,
      })
      expect([source.offer(1)._tag, source.offer(2)._tag]).toEqual(['Right', 'Right'])
      expect(source.stats()).toMatchObject({ accepted: 2, dropped: 1, waiting: 1 })
    }
    await turn()
    expect(told).toMatchObject([
      { _tag: 'Defect', at: 7, where: 'push.onDropped' },
      { _tag: 'Defect', at: 7, where: 'push.onDropped' },
    ])
  })

  it('takes an offer inside onDropped', () => {
    const lost: number[] = []
    const source = push<number>({
      capacity: 2,
      overflow: 'dropOldest',
      onDropped: ({ item }) => {
        lost.push(item)
        if (item < 10) source.offer(item + 10)
      },
    })
    for (const item of [1, 2, 3]) source.offer(item)
    expect(lost).toEqual([1, 2, 3, 11])
    expect(source.stats()).toMatchObject({ accepted: 6, dropped: 4, waiting: 2 })
  })

  it('is read once', () => {
    const source = push<number>()
    source[Symbol.asyncIterator]()
    expect(() => source[Symbol.asyncIterator]()).toThrow('read once')
  })

  it('reports what waits when the reader stops, and accepts nothing more', async () => {
    const left: unknown[] = []
    const source = push<number>({ onDropped: (outcome) => left.push(outcome) })
    for (const item of [1, 2, 3]) source.offer(item)
    for await (const item of source) {
      expect(item).toBe(1)
      break
    }
    expect(left).toMatchObject([
      { _tag: 'Abandoned', item: 2, attempts: 0 },
      { _tag: 'Abandoned', item: 3 },
    ])
    expect(source.offer(4)).toMatchObject({ left: { _tag: 'Closed', input: 4 } })
    await source.ready()
  })

  it.each([{ capacity: 0 }, { capacity: 1.5 }, { maxBytes: NaN }])('refuses %j', (options) =>
    expect(() => push(options)).toThrow(ConfigError),
  )

  it('is typed', () => {
    expectTypeOf(push<string>()).toEqualTypeOf<Push<string>>()
    expectTypeOf(push<string>().offer).toEqualTypeOf<(item: string) => Either<NotTaken, void>>()
    // @ts-expect-error not a policy
    push({ overflow: 'block' })
  })
})
