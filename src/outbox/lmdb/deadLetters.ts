import type { Awaitable } from '../../core/awaitable.ts'
import { DEAD_PAGE } from '../outbox.ts'
import type { DeadLetter, DeadLetters } from '../outbox.ts'
import type { Bounds, Commits, Counters } from './commit.ts'
import type { ItemCodec } from './contract.ts'
import { decodeDeadLetter, sizeIn, withAbout } from './records.ts'
import { APPEND } from './store.ts'
import type { Store } from './store.ts'

/** The dead letters of a store. */
export interface StoredDeadLetters<A> extends DeadLetters<A> {
  /** Adds a record, within a transaction. The oldest make room. */
  readonly add: (counters: Counters, record: Buffer) => void
}

/** The number of dead letters that are read at once, and moved in one transaction. */
const CHUNK = 500

interface Row<A> {
  readonly key: number
  readonly record: Buffer
  readonly letter: DeadLetter<A>
}

export const storedDeadLetters = <A>(
  { dead, fresh }: Store,
  commits: Commits,
  bounds: Bounds,
  codec: ItemCodec<A>,
  keepDead: number,
): StoredDeadLetters<A> => {
  const read = (after: number, limit: number): ReadonlyArray<Row<A>> =>
    Array.from(dead.getRange({ start: after + 1, limit }), ({ key, value }) => ({
      key,
      record: value,
      letter: decodeDeadLetter(codec, key, value),
    }))

  const add = (counters: Counters, record: Buffer): void => {
    dead.putSync(++counters.lastDead, record, APPEND)
    counters.dead++
    if (counters.dead <= keepDead) return
    for (const oldest of [...dead.getKeys({ limit: counters.dead - keepDead })]) {
      dead.removeSync(oldest)
      counters.dead--
      counters.evictedDeadLetters++
    }
  }

  /** Changes those that match, a chunk in each transaction. Leaves those that die meanwhile. */
  const changeMatching = async (
    matches: (letter: DeadLetter<A>) => boolean,
    change: (rows: ReadonlyArray<Row<A>>) => Awaitable<number>,
  ): Promise<number> => {
    const last = commits.counters().lastDead
    let count = 0
    for (let after = 0; after < last;) {
      const rows = read(after, CHUNK)
      const chosen = rows.filter(({ key, letter }) => key <= last && matches(letter))
      if (chosen.length > 0) count += await change(chosen)
      after = rows.at(-1)?.key ?? last
    }
    return count
  }

  /** What the bounds have no room for stays dead. It waits again as a new item, so its deadline is a new one. */
  const redrive = async (rows: ReadonlyArray<Row<A>>): Promise<number> => {
    const chosen = rows
      .map((row) => ({ ...row, size: sizeIn(row.record) }))
      .filter(({ size }) => bounds.reserve(size) === undefined)
    try {
      return await commits.write(chosen.length, false, (counters) => {
        const present = chosen.filter(({ key }) => dead.removeSync(key))
        for (const { record, size } of present) {
          fresh.putSync(++counters.lastItem, withAbout(record, ''), APPEND)
          counters.waiting++
          counters.bytes += size
          counters.dead--
        }
        return () => present.length
      })
    } finally {
      for (const { size } of chosen) bounds.release(size)
    }
  }

  const purge = (rows: ReadonlyArray<Row<A>>): Promise<number> =>
    commits.write(rows.length, false, (counters) => {
      const removed = rows.filter(({ key }) => dead.removeSync(key)).length
      counters.dead -= removed
      return () => removed
    })

  return {
    add,
    list: ({ after = '0', limit = DEAD_PAGE } = {}) => read(Number(after), limit).map(({ letter }) => letter),
    redrive: (matches) => changeMatching((letter) => letter.reason === 'ended' && matches(letter), redrive),
    purge: (matches) => changeMatching(matches, purge),
  }
}
