import type { LookupAddress } from 'node:dns'
import { describe, expect, it } from 'vitest'
import { guardOf, guardedLookup, type Lookup } from '../../src/http/egress.ts'
const found = (...addresses: ReadonlyArray<string>): ReadonlyArray<LookupAddress> =>
  addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))

const answering =
  (...answers: ReadonlyArray<ReadonlyArray<LookupAddress>>): Lookup =>
  (_name, _options, done) => {
    done(null, answers[0] ?? [])
  }

const ask = (
  lookup: Lookup,
  all: boolean,
  egress: 'network' | 'public' = 'public',
): Promise<ReadonlyArray<unknown>> =>
  new Promise((resolve) => {
    guardedLookup(guardOf(egress), lookup)('a.example', { all }, (...answer) => {
      resolve(answer)
    })
  })

describe('the look-up of a lane', () => {
  it('leaves out what is forbidden (webhooks/S6)', async () => {
    const mixed = answering(found('10.0.0.1', '8.8.8.8', '::1', '2606:4700::1'))
    expect(await ask(mixed, true)).toEqual([null, found('8.8.8.8', '2606:4700::1')])
    expect(await ask(mixed, false)).toEqual([null, '8.8.8.8', 4])
  })

  it('is a blocked address when nothing is left, and says why', async () => {
    const [error] = await ask(answering(found('169.254.169.254', 'fe80::1')), true, 'network')
    expect(error).toMatchObject({ code: 'HEADRACE_BLOCKED_ADDRESS' })
    expect(String(error)).toContain('a.example leads to 169.254.169.254 is a link-local address')
  })

  it('hands on the error of a look-up', async () => {
    const none: Lookup = (_name, _options, done) => {
      done(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), [])
    }
    expect((await ask(none, true))[0]).toMatchObject({ code: 'ENOTFOUND' })
    expect((await ask(answering([]), true))[0]).toMatchObject({ code: 'HEADRACE_BLOCKED_ADDRESS' })
  })

  it('asks once for all that wait, and anew for who comes later', () => {
    const pending: Array<() => void> = []
    let answers = 0
    const slow: Lookup = (_name, _options, done) => {
      pending.push(() => {
        done(null, found('8.8.8.8'))
      })
    }
    const lookup = guardedLookup(guardOf(), slow)
    const one = (): void => {
      lookup('a.example', { all: true }, () => {
        answers++
      })
    }
    one()
    one()
    one()
    expect(pending).toHaveLength(1)
    pending[0]?.()
    expect(answers).toBe(3)
    one()
    expect(pending).toHaveLength(2)
    pending[1]?.()
    expect(answers).toBe(4)
  })
})
