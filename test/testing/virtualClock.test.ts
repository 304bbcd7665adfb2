import { AsyncLocalStorage, createHook } from 'node:async_hooks'
import { readFile } from 'node:fs/promises'
import * as fc from 'fast-check'
import { right } from 'fp-ts/lib/Either.js'
import { describe, expect, it, vi } from 'vitest'
import { seededRandom, virtualClock } from '../../src/testing/index.ts'
import { forAll } from '../support/check.ts'

const HOUR = 3_600_000

describe('virtualClock', () => {
  it('leaves a rejection in hold to the test that handles its promise', async () => {
    const read = readFile('/nowhere')
    // The runner fails for a rejection that nothing handles.
    void virtualClock().hold(read)
    await expect(read).rejects.toThrow('ENOENT')
  })

  it('hands out what a timer throws, and goes on from there', async () => {
    const clock = virtualClock()
    const log: number[] = []
    const oops = () => expect.unreachable('oops')
    clock.schedule(1, oops)
    clock.schedule(2, () => log.push(clock.monotonic()))
    clock.schedule(3, oops)
    expect(() => clock.tick(5)).toThrow('oops')
    expect(clock.monotonic()).toBe(1)
    await expect(clock.advance(5)).rejects.toThrow('oops')
    expect([log, clock.pending()]).toEqual([[2], 0])
  })

  it('never comes to a timer at infinity', async () => {
    const clock = virtualClock()
    clock.schedule(Infinity, () => expect.unreachable())
    await clock.runAll()
    expect(clock.pending()).toBe(1)
  })

  it.each([-1, NaN, Infinity])('does not move by %s', async (ms) => {
    expect(() => virtualClock().tick(ms)).toThrow(RangeError)
    await expect(virtualClock().advance(ms)).rejects.toThrow(RangeError)
  })
})

describe('run', () => {
  it('moves the time until a promise or a task is done', async () => {
    const clock = virtualClock()
    expect(await clock.run(clock.sleep(4 * HOUR).then(() => 'rested'))).toBe('rested')
    expect(await clock.run(() => clock.sleep(5).then(() => right(7)))).toEqual(right(7))
    expect([clock.monotonic(), clock.pending()]).toEqual([4 * HOUR + 5, 0])
    const failing = clock.sleep(1).then(() => expect.unreachable('planted'))
    await expect(clock.run(failing)).rejects.toThrow('planted')
  })

  it('stops at what it waits for, and leaves other timers', async () => {
    const clock = virtualClock()
    clock.schedule(50, () => expect.unreachable(), 'flush')
    const report = 'the task is not done after 49 ms; timers that wait: flush (at 50 ms), mine (at 60 ms)'
    await expect(clock.run(clock.sleep(60, 'mine'), { timeout: 49 })).rejects.toThrow(report)
    expect(clock.timers()).toEqual([
      { name: 'flush', due: 50 },
      { name: 'mine', due: 60 },
    ])
  })

  it('reports a deadlock and a livelock, with the timers that wait', async () => {
    const clock = virtualClock({ maxTimers: 100 })
    const never = new Promise<void>(() => undefined)
    await expect(clock.run(never)).rejects.toThrow(/^deadlock: .*; no timer waits/)
    const ticker = (): void => void clock.schedule(10, ticker)
    ticker()
    expect(() => clock.tick(10_000)).toThrow('livelock: 100 timers')
    await expect(clock.run(never)).rejects.toThrow(/livelock: 100 .* timers that wait: ticker \(at \d+ ms\)/)
  })

  it('stands still while something real is held', async () => {
    const clock = virtualClock()
    const log: string[] = []
    const real = async (): Promise<void> => {
      for (let n = 0; n < 2; n++) {
        await clock.hold(readFile(import.meta.filename))
        log.push(`read at ${clock.monotonic()}`)
      }
    }
    clock.schedule(10, () => void real())
    clock.schedule(11, () => log.push('next timer'))
    await clock.runAll()
    expect(log).toEqual(['read at 10', 'read at 10', 'next timer'])
  })
})

describe('ties', () => {
  const moments = fc.array(fc.nat({ max: 3 }), { maxLength: 30, size: 'max' })
  const order = (seed: number | undefined, all: ReadonlyArray<number>): ReadonlyArray<number> => {
    const clock = virtualClock(seed === undefined ? {} : { ties: seededRandom(seed) })
    const ran: number[] = []
    all.forEach((moment, at) => clock.schedule(moment, () => ran.push(at)))
    clock.timers()
    clock.tick(100)
    return ran
  }

  it('are in an order that the seed gives, else in that of scheduling, also after a report; never against the time', () =>
    forAll(fc.option(fc.nat(), { nil: undefined }), moments, (seed, all) => {
      const ran = order(seed, all)
      expect(ran).toEqual(order(seed, all))
      const scheduled = [...all.keys()].sort((a, b) => (all[a] ?? 0) - (all[b] ?? 0))
      expect(ran.map((at) => all[at])).toEqual(scheduled.map((at) => all[at]))
      expect(new Set(ran)).toEqual(new Set(scheduled))
      if (seed === undefined) expect(ran).toEqual(scheduled)
    }))

  it('come in every order', () => {
    expect(new Set(Array.from({ length: 200 }, (_, seed) => order(seed, [5, 5, 5]).join(''))).size).toBe(6)
  })
})

it('keeps the async context of the code that schedules, as timers of Node do', async () => {
  const storage = new AsyncLocalStorage<string>()
  const clock = virtualClock()
  const seen: unknown[] = []
  storage.run('ann', () => clock.schedule(5, () => seen.push(storage.getStore())))
  storage.run('bob', () => clock.schedule(5, () => clock.schedule(1, () => seen.push(storage.getStore()))))
  await storage.run('carl', () => clock.advance(10))
  storage.run('dan', () => clock.schedule(5, () => seen.push(storage.getStore())))
  clock.tick(5)
  expect(seen).toEqual(['ann', 'bob', 'dan'])
})

it('ends the async resource of a timer that ran or was cancelled', async () => {
  const open = new Set<number>()
  const init = (id: number, type: string) => type === 'headrace.timer' && open.add(id)
  const hook = createHook({ init, destroy: (id) => open.delete(id) }).enable()
  const clock = virtualClock()
  clock.schedule(1, () => expect(open.size).toBe(1))
  clock.schedule(2, () => expect.unreachable())()
  await clock.advance(5)
  await clock.settle()
  hook.disable()
  expect(open.size).toBe(0)
})

it('runs where the global setImmediate was faked before it was loaded, as under Jest', async () => {
  vi.resetModules()
  vi.stubGlobal('setImmediate', undefined)
  const { virtualClock: loaded } = await import('../../src/testing/virtualClock.ts')
  vi.unstubAllGlobals()
  await loaded().settle()
})
