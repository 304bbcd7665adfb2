import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { exitCodeOf } from '../../src/cli/terminal.ts'
import { addsUp, show, summaryOf, undelivered } from '../../src/cli/summary.ts'
import type { Summary } from '../../src/cli/summary.ts'

const of = (counts: Partial<Omit<Summary, 'read' | 'accepted'>>): Summary => {
  const ends = { delivered: 0, rejected: 0, expired: 0, dropped: 0, abandoned: 0, waiting: 0, ...counts }
  const { delivered, rejected, expired, dropped, abandoned, waiting } = ends
  const accepted = delivered + rejected + expired + dropped + abandoned + waiting
  return summaryOf(counts.refused ?? 0, { accepted, ...ends })
}

test.each<[string, Partial<Summary>, boolean, number]>([
  ['all delivered', { delivered: 3 }, false, 0],
  ['an empty input', {}, false, 0],
  ['an empty input, stopped', {}, true, 7],
  ['some rejected', { delivered: 3, rejected: 1 }, false, 3],
  ['some expired', { delivered: 3, expired: 1 }, false, 3],
  ['some refused', { delivered: 3, refused: 1 }, false, 4],
  ['all refused: no receiver has failed', { refused: 3 }, false, 4],
  ['none delivered', { rejected: 3 }, false, 5],
  ['abandoned', { delivered: 1, abandoned: 1 }, false, 7],
  ['still waiting', { delivered: 1, waiting: 1 }, false, 7],
  ['cut, but all that was read is delivered', { delivered: 1 }, true, 7],
  ['5 before 7', { abandoned: 1 }, true, 5],
  ['5 before 3 and 4', { expired: 1, refused: 1 }, false, 5],
  ['7 before 3', { delivered: 1, rejected: 1 }, true, 7],
  ['3 before 4', { delivered: 1, rejected: 1, refused: 1 }, false, 3],
])('%s', (_, counts, cut, code) => {
  expect(exitCodeOf(of(counts), cut)).toBe(code)
})

describe('a summary', () => {
  const counts = fc.record({
    refused: fc.nat(5),
    delivered: fc.nat(5),
    rejected: fc.nat(5),
    expired: fc.nat(5),
    dropped: fc.nat(5),
    abandoned: fc.nat(5),
    waiting: fc.nat(5),
  })

  it('adds up, and says so in numbers that add up', () => {
    fc.assert(
      fc.property(counts, (each) => {
        const summary = of(each)
        const shown = show(summary)
        const numbers = (part: string): ReadonlyArray<number> => (part.match(/\d+/g) ?? []).map(Number)
        const adds = shown.split('; ').every((sum) => {
          const [total, ...parts] = numbers(sum)
          return total === parts.reduce((a, b) => a + b, 0)
        })
        return addsUp(summary) && adds && undelivered(summary) === summary.accepted - summary.delivered
      }),
      { numRuns: 1000 },
    )
  })

  it('is found out when it does not', () => {
    expect(addsUp({ ...of({ delivered: 2 }), waiting: 1 })).toBe(false)
    expect(addsUp({ ...of({ delivered: 2 }), read: 3 })).toBe(false)
  })

  it('exits 0 only if everything that was read was delivered', () => {
    let fine = 0
    fc.assert(
      fc.property(counts, fc.boolean(), (each, cut) => {
        const summary = of(each)
        if (exitCodeOf(summary, cut) !== 0) return summary.read > summary.delivered || cut
        fine++
        return summary.read === summary.delivered && !cut
      }),
      { numRuns: 1000, examples: [[{ ...of({ delivered: 2 }) }, false]] },
    )
    expect(fine).toBeGreaterThan(0)
  })

  it('leaves out what is nothing', () => {
    expect(show(of({ delivered: 2, refused: 1 }))).toBe(
      '3 read = 2 accepted + 1 refused; 2 accepted = 2 delivered',
    )
    expect(show(of({ refused: 1 }))).toBe('1 read = 0 accepted + 1 refused')
  })
})
