import { of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { audienceSync, audienceSyncs, computedTrait } from '../../../src/collector/audience.ts'
import { ConfigError } from '../../../src/core/refusal.ts'

describe('what is owned', () => {
  it('is kept and not copied', () => {
    const first = new Set(['ann'])
    of(first)
      .pipe(audienceSync({ name: 'VIP', owned: true }))
      .subscribe(({ after }) => expect(after.previous).toBe(first))
    of(first)
      .pipe(audienceSync({ name: 'VIP' }))
      .subscribe(({ after }) => expect(after.previous).not.toBe(first))
    expect.assertions(2)
  })
})

describe('wrong settings', () => {
  const faultsOfError = (make: () => unknown): unknown => {
    try {
      make()
    } catch (error) {
      return error instanceof ConfigError ? error.faults.map(({ path }) => path) : error
    }
    return 'nothing was thrown'
  }

  it('are named all at once', () => {
    // A host without types.
    const wrong = { name: '—', previous: 'ann', inDoubt: 7 } as never
    expect(faultsOfError(() => audienceSync(wrong))).toEqual(['name', 'previous', 'inDoubt'])
    expect(faultsOfError(() => computedTrait(wrong))).toEqual(['name', 'previous', 'inDoubt'])
    expect(faultsOfError(() => computedTrait({ name: 'x', previous: ['ann'] as never }))).toEqual([
      'previous',
    ])
    expect(faultsOfError(() => computedTrait({ name: undefined as never }))).toEqual(['name'])
  })

  it('are names that collide among several', () => {
    expect(faultsOfError(() => audienceSyncs([{ name: 'a b' }, { name: '?' }, { name: 'aB' }]))).toEqual([
      '[1].name',
      '[2].name',
    ])
  })
})

describe('several audiences', () => {
  it('each have an operator of their own', () => {
    const [vip, trial] = audienceSyncs([{ name: 'VIP', previous: ['ann'] }, { name: 'Trial' }])
    const said: unknown[] = []
    for (const operator of [vip, trial]) {
      of(['ann', 'bob'])
        .pipe(operator)
        .subscribe(({ calls }) => said.push([...calls].map(({ userId, traits }) => [userId, traits])))
    }
    expect(said).toEqual([
      [['bob', { vip: true }]],
      [
        ['ann', { trial: true }],
        ['bob', { trial: true }],
      ],
    ])
  })
})
