import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, it, onTestFinished } from 'vitest'
import { createCollector } from '../../src/collector/createCollector.ts'
import { OutboxError } from '../../src/outbox/lmdb/contract.ts'
import { loopbackReceiver } from '../../src/testing/loopbackReceiver.ts'

const folder = (): string => {
  const path = mkdtempSync(`${tmpdir()}/headrace-collector-`)
  onTestFinished(() => {
    rmSync(path, { recursive: true, force: true })
  })
  return path
}

const sources = [{ id: 'web', writeKey: 'wk' }]

it('each destination keeps its share in a folder of its own, beyond a restart', async () => {
  const path = folder()
  let healthy = false
  const receiver = await loopbackReceiver(() => ({ do: 'status', code: healthy ? 200 : 503 }))
  onTestFinished(receiver.close)
  const open = () =>
    createCollector(
      {
        sources,
        destinations: ['a', 'b'].map((name) => ({
          name,
          sources: ['web'],
          outbox: { path: `${path}/${name}` },
          webhooks: [{ url: `${receiver.url}${name}` }],
        })),
      },
      { logger: false },
    )
  const first = open()
  expect(
    (await first.accept('web', { type: 'track', userId: 'u1', event: 'Sold', messageId: 'm1' }))._tag,
  ).toBe('Right')
  const { totals, abandoned } = await first.close({ timeout: 0 })
  expect(totals).toMatchObject({ accepted: 2, waiting: 2, abandoned: 0 })
  expect(abandoned).toEqual({ a: [], b: [] })

  healthy = true
  const second = open()
  expect(await second.idle()).toMatchObject({ delivered: 2, waiting: 0 })
  await second.close()
  expect(
    receiver.received
      .slice(-2)
      .map((each) => each.path)
      .sort((a, b) => a.localeCompare(b)),
  ).toEqual(['/a', '/b'])
})

it('if one folder is in use, the others are given back', async () => {
  const path = folder()
  const open = (...names: ReadonlyArray<string>) =>
    createCollector(
      {
        sources,
        destinations: names.map((name) => ({
          name,
          sources: ['web'],
          outbox: { path: `${path}/${name}` },
          webhooks: [{ url: 'http://127.0.0.1:9/' }],
        })),
      },
      { logger: false },
    )
  const holder = open('b')
  expect(() => open('a', 'b')).toThrow(OutboxError)
  await holder.close()
  await expect
    .poll(() =>
      open('a', 'b')
        .close()
        .then(() => 'opened'),
    )
    .toBe('opened')
})

it('a request that is refused for want of room leaves nothing behind, though another is on its way into the folder', async () => {
  const receiver = await loopbackReceiver(() => ({ do: 'status', code: 503 }))
  onTestFinished(receiver.close)
  const collector = createCollector(
    {
      sources,
      destinations: [
        {
          name: 'a',
          sources: ['web'],
          outbox: { path: folder(), maxCount: 10 },
          webhooks: [{ url: receiver.url }],
        },
      ],
    },
    { logger: false, whenFull: 'refuse' },
  )
  const post = (from: number): Promise<Response> =>
    collector.handle(
      new Request('http://collector/v1/batch', {
        method: 'POST',
        headers: { Authorization: `Basic ${btoa('wk:')}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({
          batch: Array.from({ length: 8 }, (_, at) => ({
            type: 'track',
            userId: 'u1',
            event: 'Sold',
            messageId: `m${String(from + at)}`,
          })),
        }),
      }),
    )
  const answers = await Promise.all([post(0), post(8)])
  expect(answers.map(({ status }) => status)).toEqual([200, 503])
  expect(collector.stats().destinations['a']).toMatchObject({ accepted: 8 })
  await collector.close({ timeout: 0 })
})
