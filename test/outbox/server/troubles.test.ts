import { describe, it } from 'vitest'
import { keepShared } from '../../laws/sharedOutbox.ts'
import { brokerPlace, tablePlace } from './places.ts'
import type { World } from './worlds.ts'

const sent = { at: 0, by: 0, how: 'sent', busy: 0, lasts: 0, last: 'ok' } as const
const calm = { troubles: [], maxInFlight: 1, latency: 20, seed: 0 } as const

/** Worlds in which an adapter was wrong once, and what it had got wrong. */
const worlds: Readonly<Record<string, World>> = {
  'what we published was delivered before the broker acknowledged it': { ...calm, latency: 1, items: [sent] },
  'an entry that was lost while the connection was down was put back late': {
    ...calm,
    items: [{ ...sent, by: 1, busy: 3 }],
    troubles: [{ is: 'down', of: 1, at: 5, lasts: 3_000 }],
  },
  'an entry was leased, the answer was lost, and another took it when the lease ended': {
    ...calm,
    latency: 1,
    items: [sent, sent],
    troubles: [{ is: 'lostAnswers', of: 0, every: 3 }],
  },
  'the answers to two appends were lost, and nobody looked': {
    ...calm,
    maxInFlight: 20,
    items: [
      { ...sent, busy: 1 },
      { ...sent, at: 1_300, by: 1 },
      { ...sent, at: 41, lasts: 2_500 },
    ],
    troubles: [
      { is: 'lostAnswers', of: 0, every: 3 },
      { is: 'lostAnswers', of: 1, every: 2 },
    ],
  },
  'who took a lost entry died, and who had lost it ended it late': {
    ...calm,
    maxInFlight: 20,
    items: [{ ...sent, by: 1 }],
    troubles: [
      { is: 'death', of: 0, at: 1_081 },
      { is: 'down', of: 1, at: 81, lasts: 3_000 },
    ],
  },
  'the count after a broken connection had no answer': {
    ...calm,
    items: [
      { ...sent, lasts: 2_500 },
      { ...sent, at: 41 },
      { ...sent, at: 82 },
    ],
    troubles: [
      { is: 'down', of: 0, at: 3_261, lasts: 500 },
      { is: 'lostAnswers', of: 0, every: 2 },
    ],
  },
  'an entry was put back while a look was under way, which had not seen it': {
    ...calm,
    maxInFlight: 4,
    items: [{ ...sent, busy: 3, lasts: 40 }, sent],
    troubles: [
      { is: 'down', of: 1, at: 1_310, lasts: 10 },
      { is: 'death', of: 0, at: 241 },
    ],
  },
}

describe('two relays over one store, when', () => {
  it.each(Object.entries(worlds))('%s', async (_, world) => {
    await keepShared({ place: tablePlace }, world, { exact: true })
    await keepShared({ place: brokerPlace }, world, { exact: false })
  })
})
