import { firstValueFrom, map } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { gone, open, track, yes } from './virtual.ts'

describe('a subscriber of a destination', () => {
  it.each<[string, () => unknown]>([
    ['throws', () => expect.unreachable()],
    ['answers a promise that rejects', () => Promise.reject(new Error('subscriber'))],
  ])('that %s harms nobody, piped or not, and is told as a defect', async (_, act) => {
    const { clock, destination, ended, defects } = open([() => ({ verdict: yes, after: 10 })])
    const seen: string[] = []
    destination.outcomes$.subscribe(() => void seen.push('before'))
    destination.outcomes$.subscribe(act)
    destination.outcomes$.subscribe({ next: act, complete: act })
    destination.outcomes$.pipe(map((outcome) => outcome.item.id)).subscribe(act)
    destination.attempts$.subscribe(act)
    destination.outcomes$.pipe(map(({ item }) => item.id)).subscribe((id) => seen.push(id))
    await destination.send(track('m1'))
    await clock.advance(10)
    expect(ended()).toEqual(['Delivered m1'])
    expect(seen).toEqual(['before', 'm1'])
    expect(defects()).toEqual([
      'a subscriber of attempts$',
      'a subscriber of outcomes$',
      'a subscriber of outcomes$',
      'a subscriber of outcomes$',
    ])
    await destination.close()
    expect(defects()).toHaveLength(5)
  })

  it('whose operator throws has its own stream ended, and nobody else’s', async () => {
    const { clock, destination, ended, defects } = open([() => ({ verdict: yes, after: 10 })])
    destination.outcomes$.pipe(map(() => expect.unreachable())).subscribe()
    for (const id of ['m1', 'm2']) await destination.send(track(id))
    await clock.advance(10)
    expect(ended()).toEqual(['Delivered m1', 'Delivered m2'])
    expect(defects()).toEqual(['a subscriber of outcomes$'])
  })

  it('can wait for one with a promise, and unsubscribe', async () => {
    const { clock, destination } = open([() => ({ verdict: yes, after: 10 })])
    const first = firstValueFrom(destination.outcomes$, { defaultValue: undefined })
    let heard = 0
    const subscription = destination.outcomes$.subscribe(() => heard++)
    subscription.unsubscribe()
    await destination.send(track('m1'))
    await clock.advance(10)
    expect((await first)?._tag).toBe('Delivered')
    expect(heard).toBe(0)
  })

  it('that sends inside next turns the order round for nobody', async () => {
    const { clock, destination, ended } = open([
      (id) => (id === 'm1' ? { verdict: gone, after: 10 } : { verdict: gone }),
    ])
    const seen: string[] = []
    destination.outcomes$.subscribe(({ item }) => {
      if (item.id === 'm1') void destination.send(track('m2'))
    })
    destination.outcomes$.subscribe(({ item }) => seen.push(item.id))
    await destination.send(track('m1'))
    await clock.advance(10)
    expect(ended()).toEqual(['Rejected m1', 'Rejected m2'])
    expect(seen).toEqual(['m1', 'm2'])
  })

  it('sees accounts that add up, with its outcome in them', async () => {
    const { clock, destination } = open([(id) => ({ verdict: id === 'm2' ? gone : yes, after: 10 })])
    const sums: Array<readonly [number, number]> = []
    destination.outcomes$.subscribe(() => {
      const { accepted, delivered, rejected, expired, dropped, abandoned, waiting } = destination.stats()
      sums.push([accepted - (delivered + rejected + expired + dropped + abandoned + waiting), waiting])
    })
    for (const id of ['m1', 'm2', 'm3']) void destination.send(track(id))
    await clock.advance(10)
    expect(sums).toEqual([
      [0, 2],
      [0, 1],
      [0, 0],
    ])
  })
})
