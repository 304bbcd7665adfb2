import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { callOf, faultsOf, Event, ParsedEvent, encodePayload, WebhookBody } from '../../src/event/index.ts'
import { toWebhookBody } from '../../src/event/index.ts'
import * as Limits from '../../src/event/limits.ts'
import { forwardedOf } from '../arbitraries/forwarded.ts'
import { hostile } from '../fixtures/hostile.ts'

const moment = '2024-02-29T00:00:00.000Z'
const call = (properties: unknown): unknown => ({
  type: 'track',
  userId: 'u',
  event: 'e',
  properties,
  timestamp: moment,
  messageId: 'm',
})
const around = (properties: string): string =>
  `{"version":1,"type":"track","userId":"u","event":"e","properties":${properties},"context":{},"timestamp":"${moment}","messageId":"m"}`

/** The text that is sent: a fixed point, and its bytes are the text, so that both ways of verifying agree. */
const written = (event: Event): string => {
  const payload = encodePayload('m', event, toWebhookBody(event))
  if (isLeft(payload)) throw new Error('not encoded')
  const { text, byteLength } = payload.right
  expect([JSON.stringify(JSON.parse(text)), Buffer.from(text).toString()]).toEqual([text, text])
  expect(byteLength).toBe(Buffer.byteLength(text))
  return text
}

describe('the 31 tricky bodies of webhooks part 4', () => {
  it('are all here', () =>
    expect([...new Set(hostile.map(({ row }) => row))]).toEqual(
      Array.from({ length: 31 }, (_, index) => index + 1),
    ))

  describe.each([
    ['copied', Event],
    ['owned', ParsedEvent],
  ] as const)('%s', (_how, codec) => {
    it.each(hostile)('$row: $about', ({ make, ours, refused }) => {
      const decoded = codec.decode(call(make()))
      if (isLeft(decoded) || ours === undefined) {
        const message: unknown = expect.stringMatching(refused ?? 'none')
        expect(isLeft(decoded) && faultsOf(decoded.left)).toMatchObject([{ message }])
        return
      }
      const text = written(decoded.right)
      expect(text).toBe(around(ours))
      expect(isRight(WebhookBody.decode(JSON.parse(text)))).toBe(true)
    })
  })
})

const file = new URL('../../docs/examples/events.ndjson', import.meta.url)

const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)

const eventOf = (line: string): Event => {
  const decoded = ParsedEvent.decode(JSON.parse(line))
  if (isLeft(decoded)) throw new Error(`${JSON.stringify(faultsOf(decoded.left))}: ${line.slice(0, 200)}`)
  return decoded.right
}

describe('docs/examples/events.ndjson', () => {
  it('has 350 events of all seven kinds, small and large', () => {
    expect(lines).toHaveLength(350)
    const kinds = new Map<string, number>()
    for (const line of lines) {
      const { type } = eventOf(line)
      kinds.set(type, (kinds.get(type) ?? 0) + 1)
    }
    expect(kinds.size).toBe(7)
    expect(Math.min(...kinds.values())).toBeGreaterThanOrEqual(10)
    expect(lines.filter((line) => Buffer.byteLength(line) > 20_000).length).toBeGreaterThan(2)
  })

  it.each(lines.map((line, index) => [index + 1, line] as const))('line %i', (_, line) => {
    const event = eventOf(line)
    expect(Buffer.byteLength(line)).toBeLessThanOrEqual(Limits.callBytes)
    const read = WebhookBody.decode(JSON.parse(written(event)))
    expect(isLeft(read) ? faultsOf(read.left) : read.right).toEqual(forwardedOf(event))
    const again = Event.decode(JSON.parse(JSON.stringify(callOf(event))))
    expect(isLeft(again) ? faultsOf(again.left) : again.right).toEqual(event)
  })
})
