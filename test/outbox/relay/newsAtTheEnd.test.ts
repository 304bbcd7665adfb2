import { right } from 'fp-ts/lib/Either.js'
import { of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { deliver } from '../../../src/operators/deliver.ts'
import { ordered } from '../../../src/outbox/ordered.ts'
import { memoryOutbox } from '../../../src/outbox/memoryOutbox.ts'
import { closeRelay } from '../../../src/outbox/close.ts'
import type { Entry, Outbox, OutboxChange } from '../../../src/outbox/outbox.ts'
import { scriptedSink } from '../../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../../src/testing/virtualClock.ts'
import { watched, world } from './watched.ts'

describe('a close', () => {
  it('takes away the listener, and one that is called all the same does nothing', async () => {
    const outbox = watched()
    let listener: (news?: OutboxChange) => void = () => undefined
    const { clock, work } = world<Outbox<string>>({
      ...outbox,
      watch: (given) => {
        listener = given
        return outbox.watch?.(given) ?? (() => undefined)
      },
    })
    expect(outbox.listeners()).toBe(1)
    outbox.onEvent()
    const closing = closeRelay(work, { clock, within: 1_000, lastAttempt: 1_000 })
    await clock.settle()
    await closing
    expect([outbox.listeners(), clock.pending()]).toEqual([0, 0])
    listener({ arrived: 1 })
    expect([work.totals().accepted, clock.pending()]).toEqual([0, 0])
  })

  it('does not wait for what nobody can date', async () => {
    const { clock, work, outbox } = world({ ...watched(), durable: true })
    outbox.onEvent({ arrived: 1 })
    await clock.advance(0)
    const closing = closeRelay(work, { clock, within: 1_000, lastAttempt: 1_000 })
    await clock.settle()
    expect(await closing).toMatchObject({ totals: { accepted: 1, waiting: 1 } })
  })

  it('counts what a take brings meanwhile, and starts none of it', async () => {
    const outbox = { ...watched(), durable: true }
    const { clock, work, log } = world<Outbox<string>>({
      ...outbox,
      take: (now, limit, parked) =>
        new Promise<ReadonlyArray<Entry<string>>>((resolve) => {
          setTaken(() => {
            outbox.onEvent({ arrived: 1 })
            resolve(outbox.take(now, limit, parked))
          })
        }),
    })
    let answer = (): void => undefined
    const setTaken = (task: () => void): void => {
      answer = task
    }
    outbox.append('a')
    outbox.onEvent()
    await clock.advance(0)
    const closing = closeRelay(work, { clock, within: 0, lastAttempt: 1_000 })
    await clock.advance(0)
    expect(outbox.listeners()).toBe(1)
    answer()
    await clock.advance(2_000)
    expect(await closing).toMatchObject({ totals: { accepted: 1, waiting: 1 } })
    expect([log, outbox.listeners(), clock.pending()]).toEqual([[], 0, 0])
  })
})

describe('deliver', () => {
  it('is drained when all that its outbox counts has ended, also what the outbox alone can date', async () => {
    const clock = virtualClock()
    const inner = watched()
    let isHere = false
    const outbox: Outbox<string> = { ...inner, nextDue: () => (isHere ? inner.nextDue() : undefined) }
    const seen: string[] = []
    of(right('a'))
      .pipe(
        deliver(scriptedSink<string>({ clock, reply: () => ({ verdict: right({ sink: 's' }) }) }), {
          clock,
          outbox,
        }),
      )
      .subscribe({ next: ({ _tag }) => seen.push(_tag), complete: () => seen.push('complete') })
    await clock.advance(60_000)
    expect([seen, clock.pending()]).toEqual([[], 0])
    isHere = true
    inner.onEvent()
    await clock.advance(0)
    expect([seen, inner.listeners()]).toEqual([['Delivered', 'complete'], 0])
  })
})

describe('inOrder', () => {
  it('passes on what its outbox says', async () => {
    const outbox = watched()
    const { clock, log, work } = world(ordered(outbox, { keyOf: () => 'k', defect: () => undefined }))
    outbox.append('busy')
    outbox.append('b')
    outbox.onEvent({ arrived: 2 })
    await clock.advance(2_000)
    expect([log, work.totals().accepted]).toEqual([['Delivered busy', 'Delivered b'], 2])
    work.brake(() => undefined)
    await clock.settle()
    expect(outbox.listeners()).toBe(0)
  })

  it('says nothing of its own accord around one that does not', () => {
    expect(ordered(memoryOutbox<string>(), { keyOf: () => 'k', defect: () => undefined })).not.toHaveProperty(
      'watch',
    )
  })
})
