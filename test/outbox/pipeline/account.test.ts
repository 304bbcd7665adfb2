import { describe, expect, it } from 'vitest'
import { accountOf } from './account.ts'
import type { Account, Arrival, Harm } from './account.ts'
import { NO_HARM, explained } from './killed.ts'

const arrival = (more: Partial<Arrival> = {}): Arrival => ({
  place: 'hook',
  name: 'e1',
  id: 'm1',
  body: '{}',
  ...more,
})

const told = (onEvent: (account: Account) => void): Account => {
  const account = accountOf(['e1', 'e2'], ['hook'])
  for (const name of ['e1', 'e2']) account.offered(name)
  onEvent(account)
  return account
}

const delivered = (account: Account, more: Partial<Arrival> = {}): void => {
  account.arrived(arrival(more))
  account.taken(arrival(more))
}

describe('the account of a killed pipeline sees', () => {
  const defects: ReadonlyArray<readonly [string, (account: Account) => void, Partial<Harm>]> = [
    [
      'what was acknowledged and came to nobody',
      (account) => {
        account.acknowledged('e1')
      },
      { missing: 1 },
    ],
    [
      'what came, and was never taken',
      (account) => {
        account.acknowledged('e1')
        account.arrived(arrival())
      },
      { missing: 1 },
    ],
    [
      'other bytes',
      (account) => {
        delivered(account)
        delivered(account, { body: '{ }' })
      },
      { altered: 1 },
    ],
    [
      'a second id',
      (account) => {
        delivered(account)
        delivered(account, { id: 'm2' })
      },
      { renamed: 1 },
    ],
    [
      'what came back though its end was told',
      (account) => {
        delivered(account)
        account.ended('m1', 'delivered')
        account.nextLife()
        account.arrived(arrival())
      },
      { resurrected: 1 },
    ],
    [
      'what was repeated once and came back after two ends',
      (account) => {
        account.offered('e1')
        delivered(account)
        account.ended('m1', 'delivered')
        account.ended('m1', 'delivered')
        account.nextLife()
        account.arrived(arrival())
      },
      { resurrected: 1 },
    ],
    [
      'an end that is no delivery',
      (account) => {
        delivered(account)
        account.ended('m1', 'rejected')
      },
      { dead: 1 },
    ],
    [
      'what nobody sent',
      (account) => {
        delivered(account, { name: 'e9' })
      },
      { strange: 1 },
    ],
    [
      'what went to nobody',
      (account) => {
        delivered(account, { place: 'elsewhere' })
      },
      { strange: 1 },
    ],
    [
      'an end of what never came',
      (account) => {
        account.ended('m7', 'delivered')
      },
      { strange: 1 },
    ],
  ]
  it.each(defects)('%s', (_, onEvent, harm) => {
    expect(told(onEvent).harm()).toEqual({ ...NO_HARM, ...harm })
  })

  it('more deliveries than there was doubt', () => {
    const figures = told((account) => {
      delivered(account)
      account.ended('m1', 'delivered')
      account.nextLife()
      delivered(account)
    }).figures()
    expect(figures.extra).toBeGreaterThan(explained(figures))
  })
})

describe('and nothing in', () => {
  const harmless: ReadonlyArray<readonly [string, (account: Account) => void]> = [
    [
      'a delivery in doubt that is made again',
      (account) => {
        delivered(account)
        account.nextLife()
        delivered(account)
      },
    ],
    [
      'one that was repeated without an answer, and ended once before the kill',
      (account) => {
        account.offered('e1')
        delivered(account)
        account.ended('m1', 'delivered')
        account.nextLife()
        delivered(account)
      },
    ],
  ]
  it.each(harmless)('%s', (_, onEvent) => {
    const account = told(onEvent)
    account.acknowledged('e1')
    expect(account.harm()).toEqual(NO_HARM)
    expect(account.figures().extra).toBeLessThanOrEqual(explained(account.figures()))
  })
})
