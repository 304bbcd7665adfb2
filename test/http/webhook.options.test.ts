import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { secretFrom } from '../../src/signing/secret.ts'
import { webhook } from '../../src/http/webhook.ts'
import type { WebhookOptions } from '../../src/http/webhook.ts'
import { webhooksUnderTest } from './webhooksUnderTest.ts'

const { sinkTo } = webhooksUnderTest()

const messageOf = (make: () => unknown): string => {
  try {
    make()
  } catch (error) {
    return error instanceof TypeError ? error.message : 'no TypeError'
  }
  return 'nothing was thrown'
}

describe('wrong options', () => {
  it('throw one error that names every fault', () => {
    const message = messageOf(() =>
      webhook({
        url: 'ftp://a.example/',
        headers: { Host: 'a', 'X-A': 'b\n' },
        secret: ' padded ',
        tls: { cert: 'client.pem' },
        statuses: [{ from: 1, to: 2, means: 'delivered' }],
        egress: { allow: ['a b'] },
        connections: 0,
        connectWithin: NaN,
        messageIdHeader: 'User-Agent',
        userAgent: '',
      }),
    )
    for (const part of [
      'url must begin with http',
      'headers.Host belongs',
      'headers.X-A must be visible',
      'secret must not begin or end with white space',
      'tls.cert is no PEM',
      'tls.key is missing',
      'egress.allow[0] must be',
      'connections must be',
      'connectWithin must be',
      'messageIdHeader belongs',
      'userAgent must not be empty',
    ])
      expect(message).toContain(part)
    expect(message).not.toContain('statuses')
  })

  it.each([
    ['no options at all', undefined],
    ['no URL', {}],
    ['an unknown option', { url: 'https://a.example/', timeout: 5 }],
    ['a secret that is a look-alike', { url: 'https://a.example/', secret: {} }],
    ['an empty secret', { url: 'https://a.example/', secret: '' }],
    ['one header twice', { url: 'https://a.example/', headers: { 'X-Id': 'a' }, messageIdHeader: 'x-id' }],
    ['a user agent with a line break', { url: 'https://a.example/', userAgent: 'a\nb' }],
    ['a clock that is none', { url: 'https://a.example/', clock: {} }],
    ['metadata', 'http://169.254.169.254/'],
    ['loopback where only the public internet is dialled', { url: 'http://127.1/', egress: 'public' }],
  ])('refuses %s', (_what, options) => {
    // What a caller without types may give.
    expect(messageOf(() => webhook(options as WebhookOptions))).toContain(
      'a webhook cannot be made like this',
    )
  })

  it('take what an allow list opens', () => {
    expect(sinkTo({ url: 'http://10.1.1.1/', egress: { to: 'public', allow: ['10.1.0.0/16'] } }).name).toBe(
      'http://10.1.1.1/',
    )
  })

  it('never show a secret or a header value, nor does the sink (webhooks/S33)', () => {
    const message = messageOf(() =>
      webhook({
        url: 'https://u:hunter2@a.example/?t=hunter2',
        headers: { 'X-A': 'hunter2\n' },
        secret: 'hunter2 ',
      }),
    )
    expect(message).toContain('cannot be made')
    expect(message).not.toContain('hunter2')
    const secret = secretFrom('hunter2')
    if (secret._tag === 'Left') throw new Error('no secret')
    const sink = sinkTo({
      url: 'https://a.example/?t=hunter2',
      headers: { 'X-A': 'hunter2' },
      secret: secret.right,
    })
    expect(inspect(sink, { depth: Infinity, showHidden: true }) + JSON.stringify(sink)).not.toContain(
      'hunter2',
    )
  })
})
