import { right } from 'fp-ts/lib/Either.js'
import { firstValueFrom } from 'rxjs'
import { expect, it, vi } from 'vitest'
import { memory } from '../../src/sink/memory.ts'
import { onlyAttempt, route, type Clock, type Sink } from '../../src/index.ts'
import { scriptedSink, virtualClock, type ScriptedSink } from '../../src/testing/index.ts'

const send = (sink: Sink<string>, item: string, clock: Clock): Promise<unknown> =>
  firstValueFrom(sink.deliver(item, { ...onlyAttempt, clock }), { defaultValue: undefined })

it('H7: a sink whose close throws costs no item, no timer and no other close', async () => {
  const clock = virtualClock()
  const closed: string[] = []
  const byKey = route({
    keyOf: (item: string) => item,
    open: (key) => ({
      ...memory<string>({ name: key }),
      close: () => {
        closed.push(key)
        throw new Error('oops')
      },
    }),
    maxCount: 2,
  })
  const timers = vi.spyOn(clock, 'schedule')
  await send(byKey, 'a', virtualClock())
  for (const key of 'abac') expect(await send(byKey, key, clock)).toEqual(right({ sink: key }))
  expect(closed).toEqual(['b'])
  expect(timers).toHaveBeenLastCalledWith(60_000, expect.anything(), { holds: false })
  await clock.advance(60_000)
  expect(closed).toEqual(['b', 'a', 'c'])
  for (const key of 'de') await send(byKey, key, clock)
  await expect(byKey.close({ timeout: 0 })).rejects.toThrow('oops')
  expect([closed.join(''), clock.pending()]).toEqual(['bacde', 0])
})

it('opens the sink of a key anew, and closes the one before it after its last delivery', async () => {
  const clock = virtualClock()
  const opened: Array<ScriptedSink<string>> = []
  const byKey = route({
    keyOf: () => 'key',
    open: (name) => {
      const reply = () => ({ verdict: right({ sink: name }), after: 10 })
      const made = scriptedSink<string>({ name, clock, reply })
      opened.push(made)
      return made
    },
  })
  const closed = (): ReadonlyArray<number> => opened.map((each) => each.closed.length)
  const calls = (): ReadonlyArray<number> => opened.map((each) => each.calls.length)
  byKey.reopen('key')
  void send(byKey, 'a', clock)
  byKey.reopen('key')
  byKey.reopen('key')
  void send(byKey, 'a', clock)
  expect(String([calls(), closed()])).toBe('1,1,0,0')
  await clock.advance(10)
  expect(closed()).toEqual([1, 0])
  byKey.reopen('key')
  expect(closed()).toEqual([1, 1])
  void send(byKey, 'a', clock)
  byKey.reopen('key')
  void send(byKey, 'b', clock)
  const cut = byKey.deliver('c', { ...onlyAttempt, clock }).subscribe()
  cut.unsubscribe()
  expect(opened[3]?.running()).toBe(1)
  await byKey.close({ timeout: 0 })
  expect(String([calls(), closed()])).toBe('1,1,1,2,1,1,1,1')
  await clock.advance(10)
  expect(clock.pending()).toBe(0)
  // @ts-expect-error the key is a string
  byKey.reopen(5)
})
