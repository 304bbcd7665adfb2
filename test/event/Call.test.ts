import { isLeft } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { callOf } from '../../src/event/call.ts'
import { Event } from '../../src/event/event.ts'

const stamp = { timestamp: '2024-02-29T00:00:00.000Z', messageId: 'm' }

const again = (call: unknown): unknown => {
  const decoded = Event.decode(call)
  if (isLeft(decoded)) throw new Error('refused')
  return callOf(decoded.right)
}

it('is what a person would write: without empty data, with everything else', () => {
  expect(
    again({ type: 'track', userId: 'u', event: 'e', properties: {}, context: {}, ...stamp }),
  ).toStrictEqual({
    type: 'track',
    userId: 'u',
    event: 'e',
    ...stamp,
  })
  const full = {
    type: 'group',
    userId: 'u',
    anonymousId: 'a',
    groupId: 'g',
    traits: { plan: 'pro' },
    context: { ip: '203.0.113.7' },
    integrations: { All: false },
    ...stamp,
  }
  expect(again(full)).toStrictEqual(full)
})

it('keeps the id of a delete, and the empty properties of a screen', () => {
  const deletion = { type: 'delete', userId: 'u', ...stamp }
  expect(again(deletion)).toStrictEqual(deletion)
  const screen = { type: 'screen', userId: 'u', properties: {}, ...stamp }
  expect(again(screen)).toStrictEqual(screen)
})

it('is what the codec encodes', () => {
  expect(Event.encode).toBe(callOf)
})
