import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { expect, onTestFinished } from 'vitest'
import { createCollector, type CollectorSettings } from '../../src/collector/index.ts'
import type { Collector, CollectorOptions, DestinationOutcome } from '../../src/collector/collector.ts'
import { memory, type MemorySink } from '../../src/sink/memory.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import type { Event } from '../../src/event/index.ts'
import type { Payload } from '../../src/index.ts'
import { listen, until } from '../support/http.ts'

const listening = async (server: Server) => {
  const { port, close } = await listen(server)
  return { port, url: `http://127.0.0.1:${String(port)}`, close }
}

export const onServer = (listener: Parameters<typeof createServer>[1]) => listening(createServer(listener))
export type Mounted = Awaited<ReturnType<typeof onServer>>

const mounts = {
  listener: ({ listener }: Collector) => onServer(listener),
  // It makes a node:http server by default.
  handle: ({ handle }: Collector) => listening(createAdaptorServer({ fetch: handle }) as Server),
}

export const basic = (user: string): string => `Basic ${Buffer.from(user).toString('base64')}`
type Texts = Readonly<Record<string, string>>

const written = (body: unknown) =>
  typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)

export const post = async (url: string, body: unknown, headers: Texts = {}, method = 'POST') => {
  const response = await fetch(url, {
    method,
    ...(method === 'GET' || method === 'HEAD' ? {} : { body: written(body) }),
    headers: { 'Content-Type': 'application/json', Authorization: basic('wk:'), ...headers },
    redirect: 'manual',
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? '' : JSON.parse(text) }
}

const byKey = { Authorization: basic('wk:'), 'Content-Encoding': 'identity', 'Content-Type': 'text/plain ;' }

export const ask = async ({ handle }: Collector, path: string, body: unknown, headers: Texts = byKey) => {
  const request = { method: 'POST', body: written(body), headers }
  const response = await handle(new Request(`http://x${path}`, request))
  // What was stored is sent in the next turn if this one was long.
  await new Promise(setImmediate)
  return response
}

export const dial = async (port: number) => {
  let heard = ''
  let gone = false
  const socket = connect(port, '127.0.0.1')
  socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')))
  socket.on('error', () => undefined)
  socket.on('close', () => (gone = true))
  await once(socket, 'connect')
  return {
    write: (text: string): void => void socket.write(text),
    heard: (): string => heard,
    until: async (enough: (heard: string) => boolean): Promise<string> => {
      await until(() => gone || enough(heard))
      return heard
    },
    gone: (): boolean => gone,
    hangUp: (): void => void socket.destroy(),
  }
}

export const settings = (sink: MemorySink<Payload<Event>>): CollectorSettings => ({
  sources: [
    { id: 'web', writeKey: 'wk', deletions: true },
    { id: 'off', writeKey: 'off', enabled: false },
    { id: 'keeping', writeKey: 'keeping' },
  ],
  destinations: [{ name: 'Own', sources: ['web', 'off', 'keeping'], sink }],
})

export const open = (options: CollectorOptions = {}) => {
  const sink = memory<Payload<Event>>()
  const collector = createCollector(settings(sink), { logger: false, ...options })
  const outcomes: DestinationOutcome[] = []
  collector.outcomes$.subscribe((outcome) => outcomes.push(outcome))
  return { collector, sink, ids: () => outcomes.map(({ outcome }) => outcome.item.id) }
}
export type Setting = ReturnType<typeof open>

export const start = async (mount: keyof typeof mounts, options: CollectorOptions = {}) => {
  const clock = virtualClock()
  const setting = open({ clock, ...options })
  const mounted = await mounts[mount](setting.collector)
  onTestFinished(async () => {
    await mounted.close()
    await clock.run(setting.collector.close({ timeout: 0 }))
    expect(clock.pending()).toBe(0)
  })
  return { clock, ...setting, ...mounted }
}

export const track = (messageId: string, more: object = {}): object => ({
  ...{ type: 'track', userId: 'u', event: 'Seen', messageId },
  ...more,
})

export const postTracks = (collector: Collector, ...ids: ReadonlyArray<string>) =>
  ask(collector, '/v1/batch', { batch: ids.map((id) => track(id)) })
