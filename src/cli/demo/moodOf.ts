import { seededRandom } from '../../testing/seededRandom.ts'
import type { Answer } from '../listen/openReceiver.ts'

/** The two receivers of the demo. */
export type Receiver = 'flaky' | 'slow'

/** What is wrong with them, in words. */
export const MOODS: Readonly<Record<Receiver, string>> = {
  flaky: 'answers 503 to four requests of ten',
  slow: 'takes its time, and leaves three requests of ten without an answer',
}

const SEEDS: Readonly<Record<Receiver, number>> = { flaky: 1_000_003, slow: 7_000_009 }

const seedOf = (text: string): number => {
  let hash = 0
  for (const char of text) hash = (Math.imul(hash, 31) + (char.codePointAt(0) ?? 0)) | 0
  return hash
}

/**
 * What a receiver does to a request. It depends on the event and on how often it came, and on nothing else, so each demo has the same
 * troubles.
 *
 * @param time how often this event has come to this receiver, from 1
 * @param absurd the event makes no sense to the receiver
 */
export const moodOf = (receiver: Receiver, id: string, time: number, absurd: boolean): Answer => {
  const random = seededRandom(SEEDS[receiver] + seedOf(id) + time * 7_919)
  const luck = random()
  const haste = random()
  if (receiver === 'flaky') {
    const down = luck < 0.4
    return { status: down ? 503 : absurd ? 422 : 200, after: Math.round(2 + haste * 20) }
  }
  return luck < 0.3
    ? { status: 'silence', after: 0 }
    : { status: absurd ? 422 : 200, after: Math.round(60 + haste * 120) }
}
