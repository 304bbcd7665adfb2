import type { Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { type Dial, dialer } from '../../src/http/dialer.ts'
import { guardOf, type Egress, guardedLookup } from '../../src/http/egress.ts'
import type { Lookup } from '../../src/http/lookup.ts'
import { closedAfterEach, muteServer, openSockets, until } from '../support/http.ts'

const clock = virtualClock()

const dialTo = (url: string, { egress, lookup }: { egress?: Egress; lookup?: Lookup } = {}): Dial => {
  const guard = guardOf(egress)
  return dialer(new URL(url), guard, guardedLookup(guard, lookup), {}, 5_000, clock, true)
}

const start = (dial: Dial) => {
  const answers: Array<Error | Socket> = []
  return { answers, cancel: dial((error, socket) => answers.push(error ?? socket)) }
}

const { receive, use } = closedAfterEach()
afterEach(() => expect(clock.pending()).toBe(0))

describe('a dialer', () => {
  it('ends at its timeout, on its clock, and destroys the socket', async () => {
    const server = await muteServer()
    use(server, server.close)
    const { answers } = start(dialTo(`https://127.0.0.1:${server.port}/`))
    await until(() => server.sockets.size === 1)
    clock.tick(4_999)
    expect(answers).toEqual([])
    clock.tick(1)
    expect(answers).toMatchObject([{ code: 'HEADRACE_CONNECT_TIMEOUT' }])
    await until(() => server.sockets.size === 0)
  })

  it('counts the time of a look-up that never answers', async () => {
    const { answers } = start(dialTo('http://a.example/', { lookup: () => undefined }))
    clock.tick(5_000)
    expect(answers).toMatchObject([{ code: 'HEADRACE_CONNECT_TIMEOUT' }])
    await until(() => openSockets() === 0)
  })

  it('a connection that is there after a standstill of the process counts', async () => {
    const url = new URL((await receive()).url)
    const dial = dialer(url, guardOf(), guardedLookup(guardOf()), {}, 20, systemClock, true)
    const { answers, cancel } = start(dial)
    for (const since = performance.now(); performance.now() < since + 80;);
    await until(() => answers.length > 0)
    expect(answers).toMatchObject([{ remoteAddress: '127.0.0.1' }])
    cancel()
  })

  it('a cancel during the look-up or TLS destroys the socket, and there is no answer', async () => {
    const server = await muteServer()
    use(server, server.close)
    const looking = start(dialTo('http://a.example/', { lookup: () => undefined }))
    looking.cancel()
    const shaking = start(dialTo(`https://127.0.0.1:${server.port}/`))
    await until(() => server.sockets.size === 1)
    shaking.cancel()
    await until(() => server.sockets.size === 0)
    clock.tick(10_000)
    expect([...looking.answers, ...shaking.answers]).toEqual([])
  })

  it('checks a literal address, which is not looked up (webhooks/S8)', () => {
    const asked: string[] = []
    const lookup: Lookup = (name) => asked.push(name)
    for (const url of ['http://169.254.169.254/', 'http://[fe80::1]/', 'http://[::ffff:169.254.169.254]/']) {
      const { answers } = start(dialTo(url, { lookup }))
      expect(answers).toMatchObject([{ code: 'HEADRACE_BLOCKED_ADDRESS' }])
    }
    expect(start(dialTo('http://127.0.0.1:1/', { egress: 'public', lookup })).answers).toHaveLength(1)
    expect(asked).toEqual([])
  })

  it('dials the address that was checked, though the name resolves to another one later (webhooks/S7)', async () => {
    const receiver = await receive()
    const { port } = new URL(receiver.url)
    let asked = 0
    const rebinding: Lookup = (_name, _options, done) => {
      asked++
      done(null, [{ address: asked === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }])
    }
    const egress = { to: 'public', allow: ['127.0.0.1'] } as const
    const dial = dialTo(`http://a.example:${port}/`, { egress, lookup: rebinding })
    const { answers, cancel } = start(dial)
    await until(() => answers.length > 0)
    expect(answers[0]).toMatchObject({ remoteAddress: '127.0.0.1' })
    expect(asked).toBe(1)
    cancel()
    const second = start(dial)
    await until(() => second.answers.length > 0)
    expect(second.answers).toMatchObject([{ code: 'HEADRACE_BLOCKED_ADDRESS' }])
    await until(() => receiver.connections() === 0)
  })
})
