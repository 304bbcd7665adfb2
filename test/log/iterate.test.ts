import { Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { iterate } from '../../src/log/streams.ts'

const open = (limit = 3) => {
  const source = new Subject<number>()
  return { source, iterator: iterate(source, limit) }
}

const step = (promise: Promise<IteratorResult<number, undefined>>): Promise<string> =>
  promise.then(
    ({ done, value }) => (done === true ? 'done' : String(value)),
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )

describe('iterate', () => {
  it('keeps what was not asked for, and gives it in order', async () => {
    const { source, iterator } = open()
    for (const n of [1, 2]) source.next(n)
    source.complete()
    expect([await step(iterator.next()), await step(iterator.next()), await step(iterator.next())]).toEqual([
      '1',
      '2',
      'done',
    ])
  })

  it('answers questions that were asked at the same time in their order, and the rest with done', async () => {
    const { source, iterator } = open()
    const asked = [iterator.next(), iterator.next(), iterator.next()].map(step)
    for (const n of [1, 2]) source.next(n)
    source.complete()
    expect(await Promise.all(asked)).toEqual(['1', '2', 'done'])
  })

  it('gives what it kept before the error, the error once, and then done', async () => {
    const { source, iterator } = open()
    source.next(1)
    source.error(new Error('torn'))
    const seen = [await step(iterator.next()), await step(iterator.next()), await step(iterator.next())]
    expect(seen).toEqual(['1', 'torn', 'done'])
  })

  it('of several questions only the first hears the error', async () => {
    const { source, iterator } = open()
    const asked = [iterator.next(), iterator.next()].map(step)
    source.error(new Error('torn'))
    expect(await Promise.all(asked)).toEqual(['torn', 'done'])
  })

  it('tells a reader that fell behind, after all that it kept, and lets the source go', async () => {
    const { source, iterator } = open(2)
    for (const n of [1, 2, 3, 4]) source.next(n)
    expect(source.observed).toBe(false)
    const seen = [await step(iterator.next()), await step(iterator.next()), await step(iterator.next())]
    expect(seen.slice(0, 2)).toEqual(['1', '2'])
    expect(seen[2]).toContain('more than 2 values were not read')
    expect(await step(iterator.next())).toBe('done')
  })

  it('return lets the source go, forgets what was kept and ends those who wait', async () => {
    const { source, iterator } = open()
    const waiting = step(iterator.next())
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined })
    expect(await waiting).toBe('done')
    expect(source.observed).toBe(false)
    expect(await step(iterator.next())).toBe('done')
  })

  it('a loop that is left, or that throws, lets the source go', async () => {
    for (const leave of ['break', 'throw'] as const) {
      const { source, iterator } = open()
      source.next(1)
      const loop = async (): Promise<void> => {
        for await (const _ of iterator) {
          if (leave === 'throw') throw new Error('left')
          break
        }
      }
      await loop().catch(() => undefined)
      expect(source.observed).toBe(false)
    }
  })

  it('of a stream that is over is done at once', async () => {
    const source = new Subject<number>()
    source.complete()
    expect(await step(iterate(source, 3).next())).toBe('done')
  })
})
