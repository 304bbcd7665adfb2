import { describe, expect, it } from 'vitest'
import { refused } from '../../src/core/failure.ts'
import { rejected } from '../../src/core/outcome.ts'
import { ordered } from '../../src/outbox/ordered.ts'
import { jobOutbox } from '../../src/outbox/jobOutbox.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import { relay } from '../../src/outbox/relay.ts'
import { always } from '../../src/policy/retryPolicy.ts'
import type { LogEvent } from '../../src/log/logEvent.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { memory } from '../../src/sink/memory.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

const full = refused('full')

const open = (outbox: Outbox<string>) => {
  const told: LogEvent[] = []
  const ended: string[] = []
  const work = relay<string>({
    sink: memory<string>(),
    outbox,
    retry: always,
    clock: virtualClock(),
    random: () => 0,
    maxInFlight: 10,
    onEvent: (happening) => told.push(happening),
    ended: ({ _tag, item, attempts }) => ended.push(`${_tag} ${item} ${String(attempts)}`),
  })
  return { work, told, ended }
}

describe('what is buried', () => {
  it.each<[string, Outbox<string>, boolean]>([
    ['a memory outbox', memoryOutbox<string>(), true],
    [
      'one in order',
      ordered(memoryOutbox<string>(), { keyOf: (item) => item, defect: () => undefined }),
      true,
    ],
    ['one that keeps no dead', memoryOutbox<string>({ keepDead: 0 }), false],
    ['one that cannot bury', jobOutbox<string>(10), false],
  ])('in %s is accepted and rejected at once, without an attempt', async (_, outbox, keeps) => {
    const { work, told, ended } = open(outbox)
    expect(work.bury('a', full)).toMatchObject({ _tag: 'Right' })
    expect(ended).toEqual(['Rejected a 0'])
    expect(told.map(({ _tag }) => _tag)).toEqual(['Accepted', 'Ended'])
    expect(work.totals()).toMatchObject({ accepted: 1, rejected: 1, waiting: 0 })
    expect(outbox.stats()).toMatchObject({ waiting: 0, dead: keeps ? 1 : 0 })
    expect(await work.redrive(() => true)).toBe(keeps ? 1 : 0)
    expect(ended.slice(1)).toEqual(keeps ? ['Delivered a 1'] : [])
    work.refuse()
    expect(work.bury('b', full)).toMatchObject({ left: { _tag: 'Closed', input: 'b' } })
  })

  it('is told only when its outbox has it, and a close waits for that', async () => {
    let done: (() => void) | undefined
    const { work, ended } = open({
      ...memoryOutbox<string>(),
      bury: () => new Promise((resolve) => (done = resolve)),
    })
    const answer = work.bury('a', full)
    expect([ended, work.active(0)]).toEqual([[], true])
    done?.()
    expect(await answer).toMatchObject({ _tag: 'Right' })
    expect([ended, work.active(0)]).toEqual([['Rejected a 0'], false])
  })

  it('is bounded: the oldest dead letters make room', () => {
    const outbox = memoryOutbox<string>({ keepDead: 2 })
    for (const item of ['a', 'b', 'c']) void outbox.bury?.(item, rejected(item, 0, full))
    expect(outbox.stats().dead).toBe(2)
  })
})
