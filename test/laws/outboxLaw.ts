import { inspect, isDeepStrictEqual } from 'node:util'

/** What an outbox must do, each in one sentence. A violation names its law. */
export const LAWS = {
  kept: 'what was accepted and not ended waits, and nothing else',
  once: 'an entry that is out is not handed out again, and no id is given twice',
  due: 'nothing is handed out before it is due',
  order:
    'retries come first, by due time and no more than allowed, then the new ones in their order, and nothing is held back',
  remembers: 'an entry comes back as it was put back',
  identical: 'an item comes back as it was given',
  bounds: 'an append is refused when it would break a bound, and only then, and the answer names the bound',
  stats: 'the counters agree with what is there',
  wakes: 'the next due time is that of the first entry that is in',
  letters: 'what ended badly is a dead letter, the newest are kept, and pages list them in their order',
  redrives: 'a redriven letter waits with nothing known of it, while there is room, and is dead no more',
  purges: 'a purge forgets those that match and no others',
  survives: 'a durable outbox keeps everything through crash and close; of another one all is gone',
  abandons: 'a durable outbox hands nothing back; another hands back all that is in',
} as const

export type Law = keyof typeof LAWS

/** It must be so. */
export const hold = (law: Law, isHeld: boolean, detail: string): void => {
  if (!isHeld) throw new Error(`${LAWS[law]}: ${detail}`)
}

export const text = (value: unknown): string =>
  inspect(value, { depth: 6, breakLength: Infinity, maxStringLength: 40 })

/** Both must be equal, field by field. */
export const same = (law: Law, found: unknown, expected: unknown): void => {
  hold(law, isDeepStrictEqual(found, expected), `${text(found)} instead of ${text(expected)}`)
}
