import { expect, it } from 'vitest'
import { ask, open, track } from './kit.ts'

const batch = (...messages: ReadonlyArray<unknown>): object => ({ batch: messages })

it.each([
  [512_000, 17_656],
  [10_000_000, 40_000],
])('an answer to the most wrong messages of %i bytes has < 1,000,000 bytes', async (maxBatchBytes, most) => {
  const { collector } = open({ maxBatchBytes })
  const send = (count: number, message: unknown): Promise<Response> =>
    ask(collector, '/v1/batch', batch(track('good'), ...Array.from({ length: count - 1 }, () => message)))
  const answer = await send(most, maxBatchBytes > 1_000_000 ? { messageId: '\u0000'.repeat(30) } : {})
  const text = await answer.text()
  expect([answer.status, text.length < 1_000_000]).toEqual([200, true])
  // The collector's own answer.
  const { okEvents, errors } = JSON.parse(text) as { okEvents: number; errors: ReadonlyArray<object> }
  expect([okEvents, errors.length]).toEqual([1, most - 1])
  const reason = expect.stringContaining('type: is missing') as unknown
  expect(errors[0]).toMatchObject({ index: 1, reason })
  expect([errors.at(-1), (await send(most + 1, {})).status]).toEqual([{ index: most - 1 }, 413])
})
