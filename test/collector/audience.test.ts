import { Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { audienceSync, audienceSyncs, computedTrait, traitNameOf } from '../../src/collector/audience.ts'
import { traitNamesOf, type Members } from '../../src/collector/audience.ts'
import { faultPaths } from '../support/faults.ts'

it.each([
  ['VIP Customers (EU)', 'vip_customers_eu'],
  ['lastSeenAt', 'last_seen_at'],
  ['customersVIP', 'customers_vip'],
  ['HTTPUsers', 'http_users'],
  ['v2Beta V2Beta', 'v2beta_v2beta'],
  ['30-day actives', '30_day_actives'],
  ['Größte Käufer', 'größte_käufer'],
  ['Лучшие клиенты', 'лучшие_клиенты'],
  ['हिन्दी दर्शक', 'हिन्दी_दर्शक'],
  ['优质 客户', '优质_客户'],
  ['cafe\u0301Bar', 'café_bar'],
  ['e\u0301A AB\u0301c H\u0331', 'é_a_a_b\u0301c_ẖ'],
  ['aǅb ǅEa', 'a_ǆb_ǆ_ea'],
  ['aⅣb x½y 𝐀𝐚', 'a_b_x_y_𝐀𝐚'],
  ['ΣΑΣ STRAẞE', 'σας_straße'],
  ['__proto__', 'proto'],
  ['', undefined],
  ['!? —', undefined],
  ['\u0301', undefined],
])('traitNameOf of %j is %j', (given, expected) => expect(traitNameOf(given)).toBe(expected))

describe('traitNamesOf', () => {
  it('keeps the order', () => expect(traitNamesOf(['B b', 'a'])).toMatchObject({ right: ['b_b', 'a'] }))

  it('lists all faults: collisions, empty names, values that are no text', () => {
    // A caller without types.
    expect(traitNamesOf(['New users', '', 'newUsers', 7] as unknown as ReadonlyArray<string>)).toEqual({
      _tag: 'Left',
      left: [
        { path: '[1]', message: 'must have a letter or a digit: the trait is named after it' },
        { path: '[2]', message: 'becomes the same trait as [0]: rename one of them' },
        { path: '[3]', message: 'must have a letter or a digit: the trait is named after it' },
      ],
    })
  })
})

describe('audienceSync and computedTrait', () => {
  it('list wrong options, all at once', () => {
    const wrong: object = { name: '—', previous: 'ann', prevoius: [] }
    expect(faultPaths(() => audienceSync(wrong as never))).toEqual(['name', 'previous', 'prevoius'])
    expect(faultPaths(() => computedTrait({ ...wrong, name: 'x' }))).toEqual(['previous', 'prevoius'])
    expect(() => computedTrait({ name: 'x', previous: ['ann'] as never })).toThrow(TypeError)
    const syncs = () => audienceSyncs([{ name: 'a b' }, { name: '?' }, { name: 'aB' }])
    expect(faultPaths(syncs)).toEqual(['[1].name', '[2].name'])
  })

  it.each([['ann'], [null], [{ ann: true }]])('%j as a state is an error of the stream', (state) => {
    const states = new Subject<Members>()
    const seen: string[] = []
    states.pipe(...audienceSyncs([{ name: 'VIP' }])).subscribe({
      next: ({ calls }) => seen.push(calls.map(({ userId }) => userId).join()),
      error: (error: unknown) => seen.push(String(error)),
    })
    states.next(['bob'])
    // A caller without types.
    states.next(state as never)
    const words = 'audienceSync: a state must be an iterable of user ids, such as a Set'
    expect(seen).toEqual(['bob', `TypeError: ${words}`])
  })
})
