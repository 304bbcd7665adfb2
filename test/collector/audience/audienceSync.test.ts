import { concatMap, map, of, Subject } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { describe, expect, it } from 'vitest'
import { Event } from '../../../src/event/event.ts'
import { faultsOf } from '../../../src/event/codecFaults.ts'
import { audienceSync, computedTrait } from '../../../src/collector/audience.ts'
import type { Members } from '../../../src/collector/audience.ts'
import { USERS_A_TURN, membershipChanges, traitChanges } from '../../../src/collector/audienceChanges.ts'
const drawn = (play: (helpers: Parameters<Parameters<TestScheduler['run']>[0]>[0]) => void): void => {
  new TestScheduler((actual, expected) => {
    expect(actual).toEqual(expected)
  }).run(play)
}

describe('in marbles, each letter of a state is a user', () => {
  it('an audience: + for who joined, - for who left', () => {
    drawn(({ cold, expectObservable }) => {
      const states = cold('x-y-y-z-e-|', { x: 'ab', y: 'bc', z: 'cba', e: '' })
      const said = states.pipe(
        map((letters) => [...letters]),
        audienceSync({ name: 'VIP', previous: [] }),
        map(({ calls }) =>
          [...calls].map(({ userId, traits }) => `${traits['vip'] === true ? '+' : '-'}${userId}`),
        ),
        map((words) => words.join(' ')),
      )
      expectObservable(said).toBe('x-y-n-z-e-|', { x: '+a +b', y: '+c -a', n: '', z: '+a', e: '-c -b -a' })
    })
  })

  it('an audience that was stored, and an unfinished sync that named d and b', () => {
    drawn(({ cold, expectObservable }) => {
      const states = cold('x-y|', { x: 'bc', y: 'bc' })
      const said = states.pipe(
        map((letters) => [...letters]),
        audienceSync({ name: 'VIP', previous: ['a', 'b'], inDoubt: ['d', 'b'] }),
        map(({ calls }) =>
          [...calls].map(({ userId, traits }) => `${traits['vip'] === true ? '+' : '-'}${userId}`),
        ),
        map((words) => words.join(' ')),
      )
      expectObservable(said).toBe('x-y|', { x: '+b +c -a -d', y: '' })
    })
  })

  it('a computed trait: the new values', () => {
    drawn(({ cold, expectObservable }) => {
      const states = cold('x-y-z|', {
        x: { a: 1, b: [2] },
        y: { a: 1, b: [2], c: 0 },
        z: { b: [3], c: null },
      })
      const said = states.pipe(
        map((values) => Object.entries<unknown>(values)),
        computedTrait({ name: 'Score' }),
        map(({ calls }) =>
          [...calls].map(({ userId, traits }) => `${userId}=${JSON.stringify(traits['score'])}`),
        ),
        map((words) => words.join(' ')),
      )
      expectObservable(said).toBe('x-y-z|', { x: 'a=1 b=[2]', y: 'c=0', z: 'b=[3] c=null a=null' })
    })
  })
})

describe('the calls', () => {
  it('are events as every door takes them', () => {
    const calls: unknown[] = []
    of(new Set(['ann']))
      .pipe(
        audienceSync({ name: 'Trial users' }),
        concatMap((sync) => [...sync.calls]),
      )
      .subscribe((call) => calls.push(call))
    expect(calls).toEqual([{ type: 'identify', userId: 'ann', traits: { trial_users: true } }])
    expect(calls.map((call) => Event.decode(call)._tag)).toEqual(['Right'])
  })

  it('are refused at the door, by the field, where a state holds no id or no value; their neighbours are not', () => {
    const decoded: string[] = []
    const say = (call: unknown): void => {
      const result = Event.decode(call)
      decoded.push(
        result._tag === 'Right'
          ? 'taken'
          : faultsOf(result.left)
              .map(({ path }) => path)
              .join(),
      )
    }
    // A host without types.
    const ids = ['ann', '', 7, 'bob'] as unknown as ReadonlyArray<string>
    of(ids)
      .pipe(audienceSync({ name: 'VIP' }))
      .subscribe(({ calls }) => [...calls].forEach(say))
    const values = new Map<string, unknown>([
      ['ann', 1],
      ['bob', NaN],
      ['cid', new Map()],
      ['dora', () => 1],
      ['eve', undefined],
    ])
    of(values)
      .pipe(computedTrait({ name: 'VIP' }))
      .subscribe(({ calls }) => [...calls].forEach(say))
    expect(decoded).toEqual([
      'taken',
      'userId',
      'userId',
      'taken',
      'taken',
      'traits.vip',
      'traits.vip',
      'taken',
    ])
  })

  it('of a state too large for one turn let others have theirs', async () => {
    const users = (from: number): ReadonlySet<string> =>
      new Set(Array.from({ length: 3 * USERS_A_TURN }, (_, at) => `user-${from + at}`))
    let turns = 0
    let watching = true
    const watch = (): void => {
      turns++
      if (watching) setImmediate(watch)
    }
    setImmediate(watch)
    let calls = 0
    for await (const _ of membershipChanges(users(0), users(1))) calls++
    watching = false
    expect(calls).toBe(2)
    expect(turns).toBeGreaterThanOrEqual(5)
  })

  it('are made only as far as they are asked for', () => {
    let looked = 0
    const current = new Set(['a', 'b', 'c'])
    const watched = { has: (id: string) => (looked++, current.has(id)), keys: () => current.keys() }
    // Only what the walk reads.
    for (const { userId } of membershipChanges(new Set(), watched as unknown as ReadonlySet<string>)) {
      if (userId === 'b') break
    }
    expect(looked).toBeLessThan(5)
  })
})

describe('values are the same', () => {
  it('that contain themselves: told again, and nothing hangs', () => {
    const loops = (): unknown => {
      const value: Record<string, unknown> = {}
      return Object.assign(value, { a: value, b: value, c: [value, value] })
    }
    expect([...traitChanges(new Map([['a', loops()]]), new Map([['a', loops()]]))]).toHaveLength(1)
    const one = loops()
    expect([...traitChanges(new Map([['a', one]]), new Map([['a', one]]))]).toHaveLength(0)
  })
})

describe('a state that cannot be read', () => {
  const failing = function* (): Iterable<string> {
    yield 'ann'
    throw new Error('the database of customer 42 went away')
  }
  it.each<[string, unknown]>([
    ['a text', 'ann'],
    ['nothing', undefined],
    ['an object', { ann: true }],
    ['one that breaks off', failing()],
  ])('%s is an error of the stream, before anything of it is said', (_, state) => {
    const states = new Subject<Members>()
    const seen: string[] = []
    states.pipe(audienceSync({ name: 'VIP' })).subscribe({
      next: ({ calls }) => seen.push([...calls].map(({ userId }) => userId).join()),
      error: (error: unknown) => seen.push(String(error)),
    })
    states.next(['bob'])
    // A host without types.
    states.next(state as Members)
    expect(seen).toEqual([
      'bob',
      'TypeError: audienceSync: a state must be an iterable of user ids, such as a Set, and could not be read',
    ])
  })

  it('pairs that are none are an error too', () => {
    let said = ''
    // A host without types.
    of(['secret'] as unknown as Iterable<readonly [string, number]>)
      .pipe(computedTrait({ name: 'VIP' }))
      .subscribe({ error: (error: unknown) => (said = String(error)) })
    expect(said).toContain('computedTrait: a state must be an iterable of pairs')
    expect(said).not.toContain('secret')
  })
})
