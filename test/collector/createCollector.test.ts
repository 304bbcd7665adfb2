import { expect, it, vi } from 'vitest'
import { createCollector, OutboxError } from '../../src/collector/index.ts'
import type { Collector, CollectorOptions } from '../../src/collector/collector.ts'
import { memory } from '../../src/sink/memory.ts'
import { sink, bodyOf, type Payload } from '../../src/index.ts'
import { memoryOutbox } from '../../src/outbox/index.ts'
import type { Event } from '../../src/event/index.ts'
import { verifyRaw } from '../../src/signing/verify.ts'
import { newFolder } from '../support/folder.ts'
import { postTracks, track } from './kit.ts'
import { receiverOf } from '../support/http.ts'

const sources = [{ id: 'web', writeKey: 'wk' }]

const openFolders = (
  path: string,
  url: string,
  names: ReadonlyArray<string>,
  options: CollectorOptions = {},
  maxCount = 100,
): Collector => {
  const destinations = names.map((name) => {
    const outbox = { path: `${path}/${name}`, maxCount }
    return { name, sources: ['web'], outbox, webhooks: [{ url: url + name }] }
  })
  return createCollector({ sources, destinations }, { logger: false, ...options })
}

const failing = async () => {
  let code = 503
  return { ...(await receiverOf(() => ({ do: 'status', code }))), heal: (): void => void (code = 200) }
}

it('each destination has its own folder, and goes on after a restart', async () => {
  const path = newFolder()
  const receiver = await failing()
  const open = () => openFolders(path, receiver.url, ['a', 'b'])
  const first = open()
  expect((await first.accept('web', track('m1')))._tag).toBe('Right')
  const { totals, abandoned } = await first.close({ timeout: 0 })
  expect(totals).toMatchObject({ accepted: 2, waiting: 2, abandoned: 0 })
  expect(abandoned).toEqual({ a: [], b: [] })

  receiver.heal()
  const second = open()
  expect(await second.idle()).toMatchObject({ delivered: 2, waiting: 0 })
  await second.close()
  expect(new Set(receiver.received.slice(-2).map((each) => each.path))).toEqual(new Set(['/a', '/b']))
})

it('if one folder is in use, the others are closed again', async () => {
  const path = newFolder()
  const open = (...names: ReadonlyArray<string>) => openFolders(path, 'http://127.0.0.1:9/', names)
  const holder = open('b')
  expect(() => open('a', 'b')).toThrow(OutboxError)
  await holder.close()
  await vi.waitFor(() => open('a', 'b').close(), 20_000)
})

it('whenFull: refuse counts events that are still being written to the folder', async () => {
  const { url } = await failing()
  const collector = openFolders(newFolder(), url, ['a'], { whenFull: 'refuse' }, 10)
  const answers = await Promise.all(
    [0, 8].map((from) => postTracks(collector, ...Array.from({ length: 8 }, (_, at) => `m${from + at}`))),
  )
  expect(answers.map(({ status }) => status)).toEqual([200, 503])
  expect(collector.stats().destinations['a']).toMatchObject({ accepted: 8 })
  await collector.close({ timeout: 0 })
})

it('signs events of an earlier process for an own sink', async () => {
  const path = newFolder()
  const verified: string[] = []
  let healthy = false
  const own = sink('own', async (payload: Payload<Event>) => {
    if (!healthy) throw new Error('down')
    verified.push(verifyRaw('secret', bodyOf(payload, 0), payload.signature)._tag)
  })
  const destination = { name: 'own', sources: ['web'], sharedSecret: 'secret', sink: own, outbox: { path } }
  const open = () => createCollector({ sources, destinations: [destination] }, { logger: false })
  const first = open()
  expect((await first.accept('web', track('m1')))._tag).toBe('Right')
  await first.close({ timeout: 0 })

  healthy = true
  const second = open()
  expect((await second.idle()).delivered).toBe(1)
  await second.close()
  expect(verified).toEqual(['Right'])
})

it('a deletion that one destination could not store is not accepted', async () => {
  const destinations = ['A', 'B'].map((name) => ({ name, sources: ['web'], sink: memory() }))
  const broken = { ...memoryOutbox<Payload<Event>>(), enqueue: () => expect.unreachable() }
  const outbox = (name: string) => (name === 'B' ? broken : memoryOutbox<Payload<Event>>())
  const collector = createCollector({ sources, destinations }, { logger: false, outbox })
  expect(await collector.requestDeletion('u')).toMatchObject({ left: { _tag: 'NotStored' } })
  expect(collector.stats().deletions).toBe(0)
  expect(collector.stats().destinations).toMatchObject({ A: { accepted: 1 }, B: { accepted: 0 } })
  await collector.close({ timeout: 0 })
})
