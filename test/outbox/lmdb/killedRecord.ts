/** What a killed process said, held against what it left behind. */
import type { DeadLetter, Entry, OutboxStats } from '../../../src/outbox/outbox.ts'
import { keyOf, textOf } from './killedItems.js'

/** What is known of one item. */
interface Known {
  readonly key: string
  appended: 'asked' | 'answered'
  /** Attempts that were stored for certain, and what may be stored. */
  attempts: number
  asked: number | undefined
  ending: 'no' | 'asked' | 'answered'
  how: string
}

export interface Verdict {
  lost: number
  corrupt: number
  resurrected: number
  /** Delivered, and waits again: its end was not answered. */
  again: number
  acknowledged: number
}

/** Reads the lines of one life after the other, and judges what is there after each. */
export const killedRecord = () => {
  const byKey = new Map<string, Known>()
  const byId = new Map<string, Known>()
  const verdict: Verdict = { lost: 0, corrupt: 0, resurrected: 0, again: 0, acknowledged: 0 }

  const read = (line: string): void => {
    const [word, name = '', more = ''] = line.split(' ')
    const known = word === 'a' || word === 'A' ? byKey.get(name) : byId.get(name)
    if (word === 'a') {
      const item: Known = {
        key: name,
        appended: 'asked',
        attempts: 0,
        asked: undefined,
        ending: 'no',
        how: '',
      }
      byKey.set(name, item)
      return
    }
    if (known === undefined) throw new Error(`what is ${line}?`)
    if (word !== word?.toLowerCase()) verdict.acknowledged++
    if (word === 'A') {
      known.appended = 'answered'
      byId.set(more, known)
    } else if (word === 'p') {
      known.asked = Number(more)
    } else if (word === 'P') {
      known.attempts = known.asked ?? 0
      known.asked = undefined
    } else if (word === 'e') {
      known.ending = 'asked'
      known.how = more
    } else {
      known.ending = 'answered'
    }
  }

  const isWhole = (text: string): boolean => byKey.has(keyOf(text)) && text === textOf(keyOf(text))

  /** What lies there, once each; what is not what was given is corrupt. */
  const sift = (entries: ReadonlyArray<Entry<string>>): ReadonlyMap<string, Entry<string>> => {
    const found = new Map<string, Entry<string>>()
    for (const entry of entries) {
      if (!isWhole(entry.item) || found.has(keyOf(entry.item))) verdict.corrupt++
      else found.set(keyOf(entry.item), entry)
    }
    return found
  }

  const judge = (known: Known, waits: Entry<string> | undefined, lies: boolean): void => {
    if (waits !== undefined && lies) verdict.corrupt++
    if (known.ending === 'answered') {
      if (waits !== undefined || (lies && known.how === 'delivered')) verdict.resurrected++
      if (!lies && known.how === 'rejected') verdict.lost++
    } else if (known.ending === 'asked') {
      if (waits === undefined && !lies && known.how === 'rejected') verdict.lost++
      if (waits !== undefined && known.how === 'delivered') verdict.again++
    } else if (waits === undefined && known.appended === 'answered') {
      verdict.lost++
    }
    const attempts = waits?.progress?.attempts ?? 0
    if (waits !== undefined && attempts !== known.attempts && attempts !== known.asked) verdict.corrupt++
  }

  /** What is uncertain becomes what is there: the next life goes on from it. */
  const settle = (known: Known, waits: Entry<string> | undefined): boolean => {
    if (waits === undefined) {
      if (known.ending === 'asked') known.ending = 'answered'
      return known.appended === 'answered'
    }
    known.appended = 'answered'
    known.ending = 'no'
    known.attempts = waits.progress?.attempts ?? 0
    known.asked = undefined
    byId.set(waits.id, known)
    return true
  }

  return {
    verdict,
    read,
    compare: (
      waiting: ReadonlyArray<Entry<string>>,
      dead: ReadonlyArray<DeadLetter<string>>,
      stats: OutboxStats,
    ): void => {
      const waits = sift(waiting)
      const lies = sift(dead.map(({ entry }) => entry))
      if (stats.waiting !== waiting.length || stats.dead !== dead.length) verdict.corrupt++
      for (const [key, known] of byKey) {
        const entry = waits.get(key)
        judge(known, entry, lies.has(key))
        if (!settle(known, entry)) byKey.delete(key)
      }
    },
  }
}
