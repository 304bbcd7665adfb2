import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { tlsFaults } from '../../src/http/tls.ts'

const pem = (name: string): string =>
  readFileSync(new URL(`../fixtures/tls/${name}.pem`, import.meta.url), 'utf8')
const paths = (tls: unknown): ReadonlyArray<string> => tlsFaults(tls).map(({ path }) => path)

const broken = pem('ca.cert').replace(/\n[A-Za-z0-9+/]{10}/, '\n**********')

describe('TLS options (DE11)', () => {
  it.each([
    [undefined],
    [{}],
    [{ ca: undefined }],
    [{ ca: pem('ca.cert') }],
    [{ ca: [pem('ca.cert'), Buffer.from(pem('selfSigned.cert'))] }],
    [{ cert: pem('client.cert'), key: Buffer.from(pem('client.key')) }],
    [{ ca: pem('ca.cert') + pem('selfSigned.cert'), cert: pem('client.cert'), key: pem('client.key') }],
  ])('takes good ones', (tls) => {
    expect(tlsFaults(tls)).toEqual([])
  })

  it('has no switch that turns verification off (webhooks/S32)', () => {
    expect(paths({ rejectUnauthorized: false, checkServerIdentity: () => undefined })).toEqual([
      'rejectUnauthorized',
      'checkServerIdentity',
    ])
  })

  it('tells the name of a file from its contents', () => {
    expect(paths({ ca: './ca.pem', cert: 'client.pem', key: 7 })).toEqual(['ca', 'cert', 'key'])
  })

  it('wants cert and key together, and of one pair', () => {
    expect(paths({ cert: pem('client.cert') })).toEqual(['key'])
    expect(paths({ key: pem('client.key') })).toEqual(['cert'])
    expect(paths({ cert: pem('client.cert'), key: pem('leaf.key') })).toEqual(['key'])
  })

  it('reads what it is given', () => {
    expect(paths({ ca: broken })).toEqual(['ca'])
    expect(paths({ cert: broken, key: pem('client.key') })).toEqual(['cert'])
    expect(paths({ ca: pem('ca.cert'), cert: pem('client.cert'), key: broken })).toEqual(['key'])
    expect(paths('ca')).toEqual([''])
  })

  it('never repeats a key', () => {
    const key = pem('leaf.key')
    const text = JSON.stringify(
      tlsFaults({ cert: pem('client.cert'), key, [key]: key }).map(({ message }) => message),
    )
    expect(text).not.toContain(key.split('\n')[1])
  })
})
