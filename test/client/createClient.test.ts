import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ClientOptions } from '../../src/client/index.ts'
import type { Logger } from '../../src/log/logger.ts'
import { anything, busy, event, open, yes } from './virtual.ts'
import { throwing } from '../support/check.ts'

const fail = throwing('planted')
const rejects = (): Promise<never> => Promise.reject(new Error('no'))

describe('functions of the host that throw', () => {
  const failing = { debug: fail, info: fail, warn: fail, error: fail }
  it.each<readonly [string, ClientOptions, string | undefined]>([
    ['waitUntil', { waitUntil: fail }, 'waitUntil'],
    ['waitUntil that rejects', { waitUntil: anything(rejects) }, 'waitUntil'],
    ['logger', { logger: failing }, undefined],
    ['logger that rejects', { logger: anything({ ...failing, warn: rejects }) }, undefined],
    ['random', { random: fail }, 'random'],
    ['onEvent', { onEvent: fail }, undefined],
    ['onEvent that rejects', { onEvent: anything(rejects) }, undefined],
  ])('%s', async (_, options, where) => {
    // Nothing of ours may reject unheard (case 37).
    const rejections: unknown[] = []
    const note = (error: unknown): void => void rejections.push(error)
    process.on('unhandledRejection', note)
    onTestFinished(() => void process.off('unhandledRejection', note))
    const { client, clock, outcomes, defects } = open({ size: 2, ...options }, (_batch, number) => ({
      verdict: number < 2 ? busy : yes,
    }))
    for (let n = 0; n < 5; n++) expect(isRight(client.track({ userId: 'u', event: 'e' }))).toBe(true)
    expect(isLeft(client.track(anything(7)))).toBe(true)
    void client.flush()
    await clock.advance(10_000)
    expect(outcomes.map(({ _tag }) => _tag)).toEqual(Array.from({ length: 5 }, () => 'Delivered'))
    expect(new Set(outcomes.map(({ item }) => item.id)).size).toBe(5)
    if (where !== undefined) expect(defects()).toContain(where)
    client.track(event('abandoned'))
    await client.close({ timeout: 0 })
    await new Promise(setImmediate)
    expect(rejections).toEqual([])
  })

  it.each([fail, () => anything({}), () => ''])('newId %#: the call is refused', (newId) => {
    const { client } = open({ newId })
    expect(client.track({ userId: 'u', event: 'e' })).toMatchObject({ left: { _tag: 'Invalid' } })
    expect(isRight(client.track(event('a')))).toBe(true)
  })
})

it('an endpoint that fails and each reason of a refusal are one warning, and no secret is in it', async () => {
  const lines: string[] = []
  const log = (line: string): void => void lines.push(line)
  const logger: Logger = { debug: log, info: log, warn: log, error: log }
  const { client, clock } = open({ maxCount: 1, overflow: 'error', logger }, () => ({ verdict: busy }))
  const refusals: string[] = []
  client.refusals$.subscribe(({ _tag }) => refusals.push(_tag))
  client.track({ event: 'without an id' } as never)
  for (const id of ['a', 'b', 'c']) {
    client.track({ ...event(id), properties: { secret: 'in here' } })
    await Promise.resolve()
  }
  expect(client.track(event('d'))).toMatchObject({ left: { bound: 'count', limit: 1, input: event('d') } })
  expect(refusals).toEqual(['Invalid', 'Full', 'Full', 'Full'])
  expect(client.stats()).toMatchObject({ accepted: 1, refusedBy: { Full: 3 }, waiting: 1 })
  await clock.advance(5_000)
  expect(lines).toEqual([
    expect.stringContaining('headrace: not accepted: '),
    'headrace: scripted: status 503',
    'headrace: b: not accepted: the queue is full (limit 1 items): wait for room, by ready() or pull',
  ])
})
