import { readFileSync } from 'node:fs'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { callOf } from '../../src/event/call.ts'
import { Event, ParsedEvent } from '../../src/event/event.ts'
import * as Limits from '../../src/event/limits.ts'
import { WebhookBody, toWebhookBody } from '../../src/event/webhookBody.ts'
import { encodePayload } from '../../src/event/payload.ts'
import { faultsOf } from '../../src/event/codecFaults.ts'
import { forwardedOf } from '../arbitraries/event.ts'
import { sampleLines } from '../fixtures/sampleEvents.ts'

const file = new URL('../../docs/examples/events.ndjson', import.meta.url)

const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)

const eventOf = (line: string): Event => {
  const decoded = ParsedEvent.decode(JSON.parse(line))
  if (isLeft(decoded)) throw new Error(`${JSON.stringify(faultsOf(decoded.left))}: ${line.slice(0, 200)}`)
  return decoded.right
}

describe('docs/examples/events.ndjson', () => {
  // To write it anew put the flag last, or it takes the path for its value: vitest run … test/event/examples.test.ts -u
  it('is what its generator writes', async () => {
    await expect(`${sampleLines.join('\n')}\n`).toMatchFileSnapshot(file.pathname)
  })

  it('has 350 events of all seven kinds, small and large', () => {
    expect(lines).toHaveLength(350)
    const kinds = new Map<string, number>()
    for (const line of lines) {
      const { type } = eventOf(line)
      kinds.set(type, (kinds.get(type) ?? 0) + 1)
    }
    expect([...kinds.keys()].sort()).toEqual([
      'alias',
      'delete',
      'group',
      'identify',
      'page',
      'screen',
      'track',
    ])
    expect(Math.min(...kinds.values())).toBeGreaterThanOrEqual(10)
    expect(lines.filter((line) => Buffer.byteLength(line) > 20_000).length).toBeGreaterThan(2)
  })

  it.each(lines.map((line, index) => [index + 1, line] as const))('line %i', (_, line) => {
    const event = eventOf(line)
    expect(Buffer.byteLength(line)).toBeLessThanOrEqual(Limits.callBytes)
    const payload = encodePayload('m', event, toWebhookBody(event))
    if (isLeft(payload)) throw new Error('not encoded')
    const { text } = payload.right
    expect(JSON.stringify(JSON.parse(text))).toBe(text)
    const read = WebhookBody.decode(JSON.parse(text))
    expect(isLeft(read) ? faultsOf(read.left) : read.right).toEqual(forwardedOf(event))
    const again = Event.decode(JSON.parse(JSON.stringify(callOf(event))))
    expect(isLeft(again) ? faultsOf(again.left) : again.right).toEqual(event)
  })
})
