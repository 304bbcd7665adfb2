import { right } from 'fp-ts/lib/Either.js'
import { firstValueFrom } from 'rxjs'
import { expect, it } from 'vitest'
import { memory } from '../../src/sink/memory.ts'
import { onlyAttempt, route, type Clock, type Sink } from '../../src/index.ts'
import { scriptedSink, virtualClock, type ScriptedSink } from '../../src/testing/index.ts'
import { turns } from '../support/check.ts'

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
    idleTimeout: 100,
  })
  for (const key of ['a', 'b', 'c']) expect(await send(byKey, key, clock)).toEqual(right({ sink: key }))
  expect(closed).toEqual(['a'])
  await clock.advance(100)
  expect(closed).toEqual(['a', 'b', 'c'])
  for (const key of ['d', 'e']) await send(byKey, key, clock)
  await expect(byKey.close({ timeout: 0 })).rejects.toThrow('oops')
  expect(closed).toEqual(['a', 'b', 'c', 'd', 'e'])
})

it('waits for each close, also if one of them fails', async () => {
  const closed: string[] = []
  const close = (key: string) => async () => {
    if (key === 'a') throw new Error('oops')
    await turns()
    closed.push(key)
  }
  const open = (name: string) => ({ ...memory<string>({ name }), close: close(name) })
  const byKey = route({ keyOf: (item: string) => item, open })
  for (const key of ['a', 'b']) await send(byKey, key, virtualClock())
  await expect(byKey.close()).rejects.toThrow('oops')
  expect(closed).toEqual(['b'])
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
  expect([calls(), closed()]).toEqual([
    [1, 1],
    [0, 0],
  ])
  await clock.advance(10)
  expect(closed()).toEqual([1, 0])
  byKey.reopen('key')
  expect(closed()).toEqual([1, 1])
  void send(byKey, 'a', clock)
  byKey.reopen('key')
  await byKey.close({ timeout: 0 })
  expect([calls(), closed(), clock.pending()]).toEqual([[1, 1, 1], [1, 1, 1], 1])
  // @ts-expect-error the key is a string
  byKey.reopen(5)
})
