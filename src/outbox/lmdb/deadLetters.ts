import type { Full } from '../../core/refusal.ts'
import { DEAD_PAGE } from '../outbox.ts'
import type { DeadLetter, DeadPage, EndedDeadLetter } from '../outbox.ts'
import type { Commits } from './commit.ts'
import type { ItemCodec } from './contract.ts'
import { decodeDeadLetter, sizeIn, withAbout } from './records.ts'
import { APPEND } from './store.ts'
import type { Counters, Store } from './store.ts'

/** The number of dead letters that are read at once, and moved in one transaction. */
const CHUNK = 500

interface Row<A> {
  readonly key: number
  readonly record: Buffer
  readonly deadLetter: DeadLetter<A>
}

/** The dead letters of a store. */
export const storedDeadLetters = <A>(
  { dead, fresh }: Store,
  commits: Commits,
  boundFor: (counters: Readonly<Counters>, size: number) => Full['bound'] | undefined,
  codec: ItemCodec<A>,
  keepDead: number,
) => {
  const read = (after: number, limit: number): ReadonlyArray<Row<A>> =>
    Array.from(dead.getRange({ start: after + 1, limit }), ({ key, value }) => ({
      key,
      record: value,
      deadLetter: decodeDeadLetter(codec, key, value),
    }))

  /** Changes those that match, a chunk in each transaction, and counts them. Leaves those that die meanwhile. */
  const changeMatching = async (
    matches: (deadLetter: DeadLetter<A>) => boolean,
    change: (counters: Counters, row: Row<A>) => boolean,
  ): Promise<number> => {
    const last = commits.counters().lastDead
    let count = 0
    for (let after = 0; after < last;) {
      const rows = read(after, CHUNK)
      const chosen = rows.filter(({ key, deadLetter }) => key <= last && matches(deadLetter))
      after = rows.at(-1)?.key ?? last
      if (chosen.length === 0) continue
      count += await commits.write(chosen.length, false, (counters) => {
        const changed = chosen.filter((row) => change(counters, row)).length
        counters.dead -= changed
        return () => changed
      })
    }
    return count
  }

  return {
    /** Adds a record, within a transaction. The oldest make room. */
    add: (counters: Counters, record: Buffer): void => {
      dead.putSync(++counters.lastDead, record, APPEND)
      counters.dead++
      if (counters.dead <= keepDead) return
      for (const oldest of [...dead.getKeys({ limit: counters.dead - keepDead })]) {
        dead.removeSync(oldest)
        counters.dead--
        counters.evictedDeadLetters++
      }
    },
    list: ({ after = '0', limit = DEAD_PAGE }: DeadPage = {}): ReadonlyArray<DeadLetter<A>> =>
      read(Number(after), limit).map(({ deadLetter }) => deadLetter),
    // What the bounds have no room for stays dead. What is moved waits as a new item, so its deadline is a new one.
    redrive: (matches: (deadLetter: EndedDeadLetter<A>) => boolean): Promise<number> =>
      changeMatching(
        (deadLetter) => deadLetter.reason === 'ended' && matches(deadLetter),
        (counters, { key, record }) => {
          const size = sizeIn(record)
          if (boundFor(counters, size) !== undefined || !dead.removeSync(key)) return false
          fresh.putSync(++counters.lastItem, withAbout(record, ''), APPEND)
          counters.waiting++
          counters.bytes += size
          return true
        },
      ),
    purge: (matches: (deadLetter: DeadLetter<A>) => boolean): Promise<number> =>
      changeMatching(matches, (_, { key }) => dead.removeSync(key)),
  }
}
