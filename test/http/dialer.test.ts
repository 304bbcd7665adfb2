import type { Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { Cancel } from '../../src/core/clock.ts'
import { loopbackReceiver, type Receiver } from '../../src/testing/loopbackReceiver.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { type Dial, dialer } from '../../src/http/dialer.ts'
import { guardOf, type Egress, guardedLookup, type Lookup } from '../../src/http/egress.ts'
import { secureContextOf } from '../../src/http/tls.ts'
import { mute, socketsOpen, until } from './laneKit.ts'

const clock = virtualClock()

const dialTo = (url: string, { egress, lookup }: { egress?: Egress; lookup?: Lookup } = {}): Dial => {
  const guard = guardOf(egress)
  return dialer({
    url: new URL(url),
    guard,
    lookup: guardedLookup(guard, lookup),
    secureContext: () => secureContextOf({}),
    within: 5_000,
    clock,
  })
}

interface Dialled {
  readonly answers: Array<Error | Socket>
  readonly cancel: Cancel
}

const start = (dial: Dial): Dialled => {
  const answers: Array<Error | Socket> = []
  const cancel = dial((error, socket) => answers.push(error ?? socket))
  return { answers, cancel }
}

let receiver: Receiver | undefined
afterEach(async () => {
  await receiver?.close()
  receiver = undefined
  expect(clock.pending()).toBe(0)
})

describe('connecting', () => {
  it('answers with a socket that is ready, and holds no timer then', async () => {
    receiver = await loopbackReceiver()
    const { answers, cancel } = start(dialTo(receiver.url))
    await until(() => answers.length > 0)
    expect(answers[0]).toMatchObject({ readyState: 'open' })
    cancel()
    await until(() => receiver?.connections() === 0)
  })

  it('gives up at its limit, on the clock that it was given, and destroys its socket', async () => {
    const server = await mute()
    const { answers } = start(dialTo(`https://127.0.0.1:${server.port}/`))
    await until(() => server.sockets.size === 1)
    clock.tick(4_999)
    expect(answers).toEqual([])
    clock.tick(1)
    expect(answers).toMatchObject([{ code: 'HEADRACE_CONNECT_TIMEOUT' }])
    await until(() => server.sockets.size === 0)
    await server.close()
  })

  it('counts a look-up that never answers', async () => {
    const { answers } = start(dialTo('http://a.example/', { lookup: () => {} }))
    clock.tick(5_000)
    expect(answers).toMatchObject([{ code: 'HEADRACE_CONNECT_TIMEOUT' }])
    await until(() => socketsOpen() === 0)
  })

  it('when cancelled destroys its socket and answers nothing: at the look-up, at TLS', async () => {
    const server = await mute()
    const looking = start(dialTo('http://a.example/', { lookup: () => {} }))
    looking.cancel()
    const shaking = start(dialTo(`https://127.0.0.1:${server.port}/`))
    await until(() => server.sockets.size === 1)
    shaking.cancel()
    await until(() => server.sockets.size === 0)
    clock.tick(10_000)
    expect([...looking.answers, ...shaking.answers]).toEqual([])
    await server.close()
  })

  it('judges a literal address, which no look-up ever sees (webhooks/S8)', () => {
    const asked: string[] = []
    const lookup: Lookup = (name) => asked.push(name)
    for (const url of ['http://169.254.169.254/', 'http://[fe80::1]/', 'http://[::ffff:169.254.169.254]/']) {
      const { answers } = start(dialTo(url, { lookup }))
      expect(answers).toMatchObject([{ code: 'HEADRACE_BLOCKED_ADDRESS' }])
    }
    expect(start(dialTo('http://127.0.0.1:1/', { egress: 'public', lookup })).answers).toHaveLength(1)
    expect(asked).toEqual([])
  })

  it('dials only the address that was judged: a name that answers differently later changes nothing (webhooks/S7)', async () => {
    receiver = await loopbackReceiver()
    const { port } = new URL(receiver.url)
    let asked = 0
    // Judged with the first answer; whoever looked the name up a second time to dial it would end at the second.
    const rebinding: Lookup = (_name, _options, done) => {
      asked++
      done(null, [{ address: asked === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }])
    }
    const { answers, cancel } = start(
      dialTo(`http://a.example:${port}/`, {
        egress: { to: 'public', allow: ['127.0.0.1'] },
        lookup: rebinding,
      }),
    )
    await until(() => answers.length > 0)
    expect(answers[0]).toMatchObject({ remoteAddress: '127.0.0.1' })
    expect(asked).toBe(1)
    cancel()
    const second = start(
      dialTo(`http://a.example:${port}/`, {
        egress: { to: 'public', allow: ['127.0.0.1'] },
        lookup: rebinding,
      }),
    )
    await until(() => second.answers.length > 0)
    expect(second.answers).toMatchObject([{ code: 'HEADRACE_BLOCKED_ADDRESS' }])
    await until(() => receiver?.connections() === 0)
  })
})
