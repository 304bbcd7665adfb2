/** What an answer may say, and how much of it. */
import { left, right } from 'fp-ts/lib/Either.js'
import { from, lastValueFrom, toArray } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createCollector } from '../../src/collector/createCollector.ts'
import { trackingFrame } from '../../src/event/trackingMessage.ts'
import type { LogEvent } from '../../src/log/logEvent.ts'
import { batch } from '../../src/operators/batch.ts'
import { deliver } from '../../src/operators/deliver.ts'
import { encode } from '../../src/operators/encode.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import { ingestion } from '../../src/http/ingestion.ts'
import { memory } from '../../src/sink/memory.ts'
import { mounts, post } from './mounts.ts'
import { open, track } from './setting.ts'

const start = async (...options: Parameters<typeof open>) => {
  const setting = open(...options)
  const mounted = await mounts.listener(setting.collector)
  onTestFinished(async () => {
    await mounted.close()
    await setting.collector.close({ timeout: 0 })
  })
  return { ...setting, ...mounted }
}

interface Said {
  readonly okEvents: number
  readonly errors: ReadonlyArray<{ readonly index: number; readonly reason?: string }>
}

describe('an answer', () => {
  it.each([
    ['the default', 512_000, 17_656],
    ['more than any number of messages', 10_000_000, 40_000],
  ])(
    'to as many wrong messages as may come, with a limit of %s, is below 1,000,000 bytes',
    async (_, maxBatch, most) => {
      const { url } = await start({ maxBatch })
      const ask = (count: number, message: unknown) =>
        post(`${url}/v1/batch`, {
          batch: [track('good'), ...Array.from({ length: count - 1 }, () => message)],
        })
      const { status, body } = await ask(most, maxBatch > 1_000_000 ? { messageId: '\u0000'.repeat(30) } : {})
      expect([status, Buffer.byteLength(JSON.stringify(body)) < 1_000_000]).toEqual([200, true])
      const { okEvents, errors } = body as Said
      expect([okEvents, errors.length]).toEqual([1, most - 1])
      expect(errors.map(({ index }) => index)).toEqual(Array.from({ length: most - 1 }, (__, at) => at + 1))
      expect(errors[0]?.reason).toContain('type: is missing')
      expect(errors.at(-1)).toEqual({ index: most - 1 })
      expect((await ask(most + 1, {})).status).toBe(413)
    },
  )

  it('to many wrong messages is read by our own sink: none of them counts as delivered', async () => {
    const { url, collector } = await start()
    const items = [track('good'), ...Array.from({ length: 16_000 }, () => ({ type: 'page' }))]
    const outcomes = await lastValueFrom(
      from(items.map((item) => right(item))).pipe(
        encode((item) => item),
        batch({ maxCount: 20_000, maxBytes: 500_000, maxDelay: 1_000, frame: trackingFrame }),
        deliver(ingestion(url, 'wk')),
        toArray(),
      ),
      { defaultValue: [] },
    )
    expect(collector.stats()).toMatchObject({ accepted: 1, refused: 16_000 })
    expect(outcomes).toMatchObject([{ _tag: 'Rejected', failure: { _tag: 'PartlyFailed' } }])
  })

  it('never has what a store said; the host is told it', async () => {
    const heard: LogEvent[] = []
    const { url, collector } = await start({
      onEvent: (happening) => heard.push(happening),
      outbox: () => ({
        ...memoryOutbox(),
        append: () => {
          throw new Error('the disk /secret/path is full')
        },
      }),
    })
    for (const [path, body] of [
      ['batch', { batch: [track('a')] }],
      ['track', track('b')],
      ['delete', { userId: 'u' }],
    ] as const) {
      const before = heard.length
      const answer = await post(`${url}/v1/${path}`, body)
      expect([answer.status, answer.body]).toEqual([
        503,
        { ok: false, reason: 'it could not be stored: try again' },
      ])
      const refusals = heard.slice(before).flatMap((each) => (each._tag === 'Refused' ? [each.refusal] : []))
      expect(refusals).toMatchObject([{ _tag: 'NotStored', detail: 'the disk /secret/path is full' }])
    }
    expect(await collector.accept('web', track('c'))).toMatchObject({
      left: { detail: 'the disk /secret/path is full' },
    })
  })

  it('to a deletion of which one destination kept its part is 503, and counts none', async () => {
    const collector = createCollector(
      {
        sources: [{ id: 'web', writeKey: 'wk' }],
        destinations: ['A', 'B'].map((name) => ({ name, sources: ['web'], sink: memory() })),
      },
      {
        logger: false,
        outbox: (name) => ({
          ...memoryOutbox(),
          ...(name === 'B' && {
            append: () => {
              throw new Error('no')
            },
          }),
        }),
      },
    )
    expect(await collector.requestDeletion('u')).toMatchObject({ left: { _tag: 'NotStored' } })
    expect(collector.stats().deletions).toBe(0)
    expect(collector.stats().destinations).toMatchObject({ A: { accepted: 1 }, B: { accepted: 0 } })
    await collector.close({ timeout: 0 })
  })
})

describe('a message', () => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)

  it.each([
    [16_400, 1],
    [200_000, 1],
    [300, 2],
  ])('with a key that no event has, %i levels deep, takes nothing from the others', async (depth, taken) => {
    const { url, collector, ids } = await start()
    const body = `{"batch":[${JSON.stringify(track('a'))},{"type":"track","userId":"u","event":"p","messageId":"b","junk":${nested(depth)}}],"more":"${'x'.repeat(33_000)}"}`
    const answer = await post(`${url}/v1/batch`, body)
    expect([answer.status, (answer.body as Said).okEvents]).toEqual([200, taken])
    expect(collector.stats()).toMatchObject({ received: 2, accepted: taken })
    expect(ids()).toEqual(['a', 'b'].slice(0, taken))
  })

  it('from code that cannot be read is invalid, and counted', async () => {
    const { collector } = await start()
    const broken = new Proxy(
      {},
      {
        get: () => {
          throw new Error('trap')
        },
      },
    )
    expect(await collector.accept('web', broken)).toMatchObject({ left: { _tag: 'Invalid' } })
    expect(collector.stats()).toMatchObject({
      received: 1,
      refused: 1,
      reasons: { Invalid: 1, NotStored: 0 },
    })
  })

  it('that brings its write key is told without it', async () => {
    const heard: LogEvent[] = []
    const { url } = await start({ onEvent: (happening) => heard.push(happening) })
    const headers = { Authorization: '' }
    const writeKey = 'wk'
    expect((await post(`${url}/v1/track`, { writeKey, userId: 5 }, headers)).status).toBe(400)
    expect((await post(`${url}/v1/delete`, { writeKey, userId: 5 }, headers)).status).toBe(400)
    const inBatch = { writeKey, batch: [{ ...track('a'), writeKey, userId: 5 }] }
    expect((await post(`${url}/v1/batch`, inBatch, headers)).status).toBe(400)
    expect(heard.filter(({ _tag }) => _tag === 'Refused').length).toBe(3)
    expect((await post(`${url}/v1/track`, { writeKey, ...track('b') }, headers)).status).toBe(200)
    expect(JSON.stringify(heard)).not.toMatch(/wk|writeKey/)
    expect(heard.some(({ _tag }) => _tag === 'UnknownKeys')).toBe(false)
  })

  it('may begin with a byte order mark', async () => {
    const { url, ids } = await start()
    expect((await post(`${url}/v1/track`, `\u{feff}${JSON.stringify(track('a'))}`)).status).toBe(200)
    expect((await post(`${url}/v1/track`, '\u{feff}{"userId":}')).status).toBe(400)
    expect(ids()).toEqual(['a'])
  })
})

it('a deletion from code with options that are none says what is wrong', async () => {
  const { collector } = await start()
  // What callers without types may write.
  const ask = (options: unknown) => collector.requestDeletion('u', options as { sources: [] })
  expect(await ask(null)).toEqual(right({ notifications: 3 }))
  expect(await ask({ sources: 'web' })).toEqual(
    left({ _tag: 'Invalid', input: 'u', faults: [{ path: 'sources', message: 'must be an array of ids' }] }),
  )
})
