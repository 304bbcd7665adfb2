import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { callOf, Event, ParsedEvent, encodePayload, WebhookBody } from '../../src/event/index.ts'
import { toWebhookBody } from '../../src/event/index.ts'
import * as Limits from '../../src/event/limits.ts'
import { forwardedOf } from '../arbitraries/forwarded.ts'
import events from '../fixtures/events.json' with { type: 'json' }
import { hostile } from '../fixtures/hostile.ts'
import { decoded, faultsIn } from '../support/decoded.ts'

const moment = '2024-02-29T00:00:00.000Z'
const call = (properties: unknown): unknown => ({
  ...{ type: 'track', userId: 'u', event: 'e', timestamp: moment, messageId: 'm' },
  properties,
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
    expect([...new Set(hostile.map(({ row }) => row))]).toEqual(Array.from({ length: 31 }, (_, n) => n + 1)))

  describe.each(Object.entries({ copied: Event, owned: ParsedEvent }))('%s', (_how, codec) => {
    it.each(hostile)('$row: $about', ({ make, ours, refused }) => {
      if (ours === undefined) {
        const message: unknown = expect.stringMatching(refused ?? 'none')
        expect(faultsIn(codec, call(make()))).toMatchObject([{ message }])
        return
      }
      const text = written(decoded(codec, call(make())))
      expect(text).toBe(around(ours))
      expect(isRight(WebhookBody.decode(JSON.parse(text)))).toBe(true)
    })
  })
})

const file = new URL('../../docs/examples/events.ndjson', import.meta.url)
const examples = readFileSync(file, 'utf8').split('\n').slice(0, -1)
const eventOf = (line: string): Event => decoded(ParsedEvent, JSON.parse(line))

describe.each([
  ['docs/examples/events.ndjson', 100, 5, examples],
  ['test/fixtures/events.json', 350, 10, events],
])('%s', (_file, count, least, lines) => {
  it('has events of all seven kinds, small and large', () => {
    expect(lines).toHaveLength(count)
    const kinds = lines.map((line) => eventOf(line).type)
    const counts = [...new Set(kinds)].map((kind) => kinds.filter((each) => each === kind).length)
    expect([counts.length, Math.min(...counts) >= least]).toEqual([7, true])
    expect(lines.filter((line) => Buffer.byteLength(line) > 20_000).length).toBeGreaterThan(2)
  })

  it.each(lines.map((line, index) => [index + 1, line] as const))('line %i', (_, line) => {
    const event = eventOf(line)
    expect(Buffer.byteLength(line)).toBeLessThanOrEqual(Limits.callBytes)
    expect(decoded(WebhookBody, JSON.parse(written(event)))).toEqual(forwardedOf(event))
    expect(decoded(Event, JSON.parse(JSON.stringify(callOf(event))))).toEqual(event)
  })
})
