import { describe, expect, it } from 'vitest'
import { memoryOutbox } from '../../../src/outbox/memoryOutbox.ts'
import type { Outbox } from '../../../src/outbox/outbox.ts'
import { watched, world } from './watched.ts'

describe('what an outbox says of its own accord', () => {
  it('is worked a turn later, and counts as accepted at once', async () => {
    const { clock, work, outbox, log } = world(watched())
    outbox.append('a')
    outbox.onEvent({ arrived: 1 })
    expect([work.totals().accepted, work.totals().waiting, outbox.takes()]).toEqual([1, 1, 0])
    await clock.advance(10)
    expect([log, work.totals().delivered, clock.pending()]).toEqual([['Delivered a'], 1, 0])
  })

  it('causes one look, however much was said', async () => {
    const { clock, outbox, log, news } = world(watched(), 2_000)
    for (let n = 0; n < 1_000; n++) {
      outbox.append(`${n}`)
      outbox.onEvent({ arrived: 1 })
    }
    expect(clock.pending()).toBe(1)
    clock.tick(0)
    expect([outbox.takes(), news(), log.length]).toEqual([1, 1, 0])
    await clock.advance(10)
    expect([log.length, clock.pending()]).toEqual([1_000, 0])
  })

  it('does not recurse, also when an outbox says it inside of what it is asked', async () => {
    const inner = watched()
    let depth = 0
    const { clock, log } = world<Outbox<string>>({
      ...inner,
      take: (...args) => {
        expect(depth++).toBe(0)
        inner.onEvent()
        const taken = inner.take(...args)
        depth--
        return taken
      },
    })
    inner.append('a')
    inner.onEvent({ arrived: 1 })
    await clock.advance(10)
    expect(log).toEqual(['Delivered a'])
  })

  it('what it held already is what it says, and nobody asks for its figures', () => {
    const outbox = watched()
    outbox.append('a')
    const { work } = world({
      ...outbox,
      stats: () => {
        throw new Error('not connected yet')
      },
      watch: (listener) => {
        listener({ arrived: 1 })
        return () => undefined
      },
    })
    expect(work.totals()).toMatchObject({ accepted: 1, waiting: 1 })
  })

  it('an arrival that is announced after it was handed out is counted once', async () => {
    const { clock, work, outbox, log } = world(watched())
    outbox.append('a')
    outbox.onEvent()
    await clock.advance(0)
    expect(work.totals()).toMatchObject({ accepted: 1, waiting: 1 })
    outbox.onEvent({ arrived: 1 })
    expect(work.totals()).toMatchObject({ accepted: 1, waiting: 1 })
    await clock.advance(10)
    outbox.onEvent({ arrived: 1 })
    expect([log, work.totals().accepted, work.totals().waiting]).toEqual([['Delivered a'], 2, 1])
  })

  it('what is gone was accepted elsewhere, and what is in hand cannot be gone', async () => {
    const { clock, work, outbox, defects } = world(watched())
    outbox.onEvent({ arrived: 3 })
    outbox.onEvent({ gone: 2 })
    expect(work.totals()).toMatchObject({ accepted: 1, waiting: 1 })
    outbox.append('a')
    await clock.advance(0)
    outbox.onEvent({ gone: 1 })
    expect([work.totals().waiting, defects]).toEqual([1, []])
    await clock.advance(0)
    expect(work.totals()).toMatchObject({ accepted: 1, waiting: 1 })
    expect(defects).toEqual(['RangeError: the news of an outbox: more are gone than wait here'])
    await clock.advance(10)
    expect(work.totals()).toMatchObject({ accepted: 1, delivered: 1, waiting: 0 })
  })

  it('what is gone may be said while the park that found it out is not answered', async () => {
    const inner = watched()
    const { clock, work, defects } = world<Outbox<string>>({
      ...inner,
      park: () => {
        inner.onEvent({ gone: 1 })
        return Promise.resolve()
      },
    })
    await work.offer('busy')
    await clock.advance(10)
    expect([work.totals().accepted, work.totals().waiting, defects, clock.pending()]).toEqual([0, 0, [], 0])
  })

  it.each([{ arrived: -1 }, { arrived: Number.NaN }, { gone: 0.5 }, { gone: Infinity }])(
    'a count that is none is a defect, and counts nothing: %j',
    (news) => {
      const { work, outbox, defects } = world(watched())
      outbox.onEvent(news)
      expect(work.totals()).toMatchObject({ accepted: 0, waiting: 0 })
      expect(defects).toEqual([expect.stringMatching(/^RangeError: .*must be a whole number from 0$/)])
    },
  )

  it('what its watch throws is told, and the relay works without it', async () => {
    const { clock, work, defects, log } = world<Outbox<string>>({
      ...memoryOutbox<string>(),
      watch: () => {
        throw new Error('no')
      },
    })
    await work.offer('a')
    await clock.advance(10)
    expect([log, defects]).toEqual([['Delivered a'], ['Error: no']])
  })

  it('what the end of its watch throws is told, and the relay is over', async () => {
    const { clock, work, defects } = world<Outbox<string>>({
      ...memoryOutbox<string>(),
      watch: () => () => {
        throw new Error('no')
      },
    })
    work.brake(() => undefined)
    await clock.settle()
    expect([work.isOver(), defects]).toEqual([true, ['Error: no']])
  })
})
