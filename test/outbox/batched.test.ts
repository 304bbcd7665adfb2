import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { batched } from '../../src/outbox/batched.ts'
import { forAllAsync } from '../support/check.ts'

type Item = Readonly<Record<'id' | 'count' | 'bytes', number>>

const share = (half: number) => fc.oneof(fc.nat(half), fc.constantFrom(half, half + 1, 2 * half + 1))
const sizes = fc.record({ count: share(500), bytes: share(524_288) })
const command = fc.oneof(
  { weight: 4, arbitrary: fc.record({ asks: fc.array(sizes, { minLength: 1, maxLength: 5 }) }) },
  { weight: 2, arbitrary: fc.constantFrom('take' as const, 'answer' as const) },
  { weight: 1, arbitrary: fc.constantFrom('fail' as const, 'answer too few' as const) },
)
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))
const sum = (list: ReadonlyArray<Item>, key: 'count' | 'bytes') => list.reduce((to, one) => to + one[key], 0)
const fits = (list: ReadonlyArray<Item>) => sum(list, 'count') <= 1_000 && sum(list, 'bytes') <= 1_048_576

describe('batched', () => {
  it('has one list under way, as long as its bounds allow, and answers each ask by its place', () =>
    forAllAsync(fc.array(command, { maxLength: 30 }), async (commands) => {
      let call: { take: () => ReadonlyArray<Item>; answer: (ids: 'fail' | number[]) => void } | undefined
      let list: ReadonlyArray<Item> | undefined
      let waiting: Item[] = []
      const expected: Array<number | string> = []
      const found: Array<number | string> = []
      const store = batched<Item, number>((take) => {
        expect(call).toBeUndefined()
        return new Promise((resolve, reject) => {
          call = { take, answer: (ids) => (ids === 'fail' ? reject(new Error(ids)) : resolve(ids)) }
        })
      })
      const take = () => {
        if (call === undefined || list !== undefined) return
        list = call.take()
        expect(call.take()).toEqual(list)
        expect(list).toEqual(waiting.slice(0, list.length))
        waiting = waiting.slice(list.length)
        expect(list.length === 1 || fits(list)).toBe(true)
        expect(waiting[0] !== undefined && fits([...list, waiting[0]])).toBe(false)
      }
      const end = async (how: 'answer' | 'fail' | 'answer too few') => {
        if (call === undefined) return
        take()
        const { answer } = call
        const ids = (list ?? []).map(({ id }) => id)
        for (const id of ids) expected[id] = how === 'answer' ? id : 'failed'
        call = list = undefined
        answer(how === 'fail' ? how : ids.slice(how === 'answer' ? 0 : 1))
        await settled()
      }
      let ids = 0
      for (const each of commands)
        if (each === 'take') take()
        else if (typeof each === 'string') await end(each)
        else {
          for (const { count, bytes } of each.asks) {
            const item = { id: ids++, count, bytes }
            waiting.push(item)
            const answer = store.ask(item, count, bytes)
            void answer.then((id) => (found[item.id] = id)).catch(() => (found[item.id] = 'failed'))
          }
          await settled()
        }
      while (call !== undefined) await end('answer')
      await store.idle()
      expect(found).toEqual(expected)
      expect(found).toHaveLength(ids)
    }))

  it('rejects the list that a call had not taken when it failed, and goes on', async () => {
    const failing = [() => Promise.reject(new Error('no connection'))]
    const store = batched<string, string>((take) => failing.pop()?.() ?? Promise.resolve(take()))
    await expect(store.ask('a')).rejects.toThrow('no connection')
    expect(await store.ask('b')).toBe('b')
  })
})

it('a call near the end of the stack stops no later one', async () => {
  const all: Array<ReturnType<typeof batched<number, number>>> = []
  const ask = (..._: ReadonlyArray<unknown>): void => {
    const lists = batched<number, number>((take) => Promise.resolve(take()))
    all.push(lists)
    lists.ask(1).catch(() => undefined)
  }
  const overflow = (): void => {
    try {
      overflow()
    } catch (error) {
      // With less and less left of the stack, by the size of two arguments.
      for (let size = 0; size < 20 && all.length < 2_000; size += 2) ask(...new Array<undefined>(size))
      throw error
    }
  }
  expect(overflow).toThrow(RangeError)
  const answers = Promise.all(all.map((lists) => lists.ask(2)))
  expect(await Promise.race([answers, settled()])).toEqual(all.map(() => 2))
})
