import { describe, expect, it } from 'vitest'
import { refused } from '../../../src/core/failure.ts'
import { rejected } from '../../../src/core/outcome.ts'
import type { DeadLetter, Entry } from '../../../src/outbox/outbox.ts'
import { textOf } from './killedItems.js'
import { killedRecord } from './killedRecord.ts'

const entry = (id: string, key: string, attempts = 0): Entry<string> => ({
  id,
  item: textOf(key),
  firstAttemptAt: undefined,
  progress: attempts === 0 ? undefined : { attempts, lastFailure: refused('status') },
})

const letter = (id: string, key: string): DeadLetter<string> => ({
  id: '1',
  at: 0,
  entry: entry(id, key),
  outcome: rejected(textOf(key), 1, refused('status')),
})

/** How many are waiting and dead is told rightly unless said otherwise. */
const judged = (
  lines: ReadonlyArray<string>,
  waiting: ReadonlyArray<Entry<string>>,
  dead: ReadonlyArray<DeadLetter<string>> = [],
  counted = waiting.length,
): unknown => {
  const { read, compare, verdict } = killedRecord()
  for (const line of ['a 1-1', ...lines]) read(line)
  compare(waiting, dead, { waiting: counted, dead: dead.length, bytes: 0, maxCount: 1, maxBytes: 1 })
  return Object.fromEntries(
    Object.entries(verdict).filter(([name, count]) => name !== 'acknowledged' && count > 0),
  )
}

const answered = 'A 1-1 1'

describe('the record of a killed process sees', () => {
  it.each([
    ['an append that was answered and is gone', [answered], [], [], { lost: 1 }],
    [
      'an end that was answered and waits',
      [answered, 'e 1 delivered', 'E 1'],
      [entry('1', '1-1')],
      [],
      { resurrected: 1 },
    ],
    [
      'a delivered one among the dead',
      [answered, 'e 1 delivered', 'E 1'],
      [],
      [letter('1', '1-1')],
      { resurrected: 1 },
    ],
    ['a rejected one that is no letter', [answered, 'e 1 rejected', 'E 1'], [], [], { lost: 1 }],
    [
      'one that waits and is dead',
      [answered, 'e 1 rejected'],
      [entry('1', '1-1')],
      [letter('1', '1-1')],
      { corrupt: 1 },
    ],
    ['attempts that went back', [answered, 'p 1 2', 'P 1'], [entry('1', '1-1', 1)], [], { corrupt: 1 }],
    [
      'a text that changed',
      [answered],
      [entry('1', '1-1'), { ...entry('2', '1-1'), item: '1-1 y' }],
      [],
      { corrupt: 1 },
    ],
    ['one that is there twice', [answered], [entry('1', '1-1'), entry('2', '1-1')], [], { corrupt: 1 }],
    [
      'a delivery that will be made again',
      [answered, 'e 1 delivered'],
      [entry('1', '1-1')],
      [],
      { again: 1 },
    ],
  ] as const)('%s', (_, lines, waiting, dead, expected) => {
    expect(judged(lines, waiting, dead)).toEqual(expected)
  })

  it('counters that are wrong', () => {
    expect(judged([answered], [entry('1', '1-1')], [], 2)).toEqual({ corrupt: 1 })
  })

  it.each([
    ['an append that was not answered and is gone', [], [], []],
    ['one that was not answered and waits', [], [entry('1', '1-1')], []],
    ['attempts that were on their way', [answered, 'p 1 2'], [entry('1', '1-1', 2)], []],
    ['an end that was on its way', [answered, 'e 1 rejected'], [], [letter('1', '1-1')]],
  ] as const)('nothing in %s', (_, lines, waiting, dead) => {
    expect(judged(lines, waiting, dead)).toEqual({})
  })
})
