/**
 * A server that several processes share: one table of entries with leases, and one of dead letters. It answers at once; what lies between
 * it and a process is in `wire.ts`. A lease is a token and an end, and only who has the token changes the row.
 */
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../../src/core/clock.ts'
import { isDead } from '../../../src/core/outcome.ts'
import type { Outcome } from '../../../src/core/outcome.ts'
import { full } from '../../../src/core/refusal.ts'
import type { Full } from '../../../src/core/refusal.ts'
import type { DeadLetter, Entry } from '../../../src/outbox/outbox.ts'

/** Somebody may change the row until then. */
export interface Lease {
  readonly token: number
  readonly holder: string
  readonly until: number
}

export interface Row<A> {
  entry: Entry<A>
  /** Undefined: never put back. */
  due: number | undefined
  /** In whose books it is. */
  owner: string
  lease: Lease | undefined
}

/** An entry that was leased. */
export interface Leased<A> {
  readonly entry: Entry<A>
  readonly token: number
  /** When it was to come back; undefined: it was never put back. */
  readonly due: number | undefined
}

export interface Figures {
  readonly waiting: number
  readonly bytes: number
  readonly dead: number
}

/** What the server says of its own accord. */
export type Note =
  /** Something is there, or will be at this moment. */
  | { readonly say: 'due'; readonly at: number }
  /** Entries of yours are another's now. */
  | { readonly say: 'moved'; readonly ids: ReadonlyArray<string> }
  /** Somebody was turned away, and something has ended since. */
  | { readonly say: 'room' }

export interface ServerOptions<A> {
  readonly clock: Clock
  readonly maxCount?: number
  readonly maxBytes?: number
  readonly keepDead?: number
  readonly sizeOf?: (item: A) => number
}

export interface Server<A> {
  readonly clock: Clock
  readonly bounds: { readonly maxCount: number; readonly maxBytes: number }
  readonly rows: Map<string, Row<A>>
  readonly figures: () => Figures
  /** Has notes for `name` brought to it. Answers how to stop that. */
  readonly listen: (name: string, hear: (note: Note) => void) => () => void
  /** Looks after each change; a broker pushes then. */
  onChange: () => void
  readonly insert: (id: string, item: A, owner: string) => Either<Full, Entry<A>>
  readonly isFree: (row: Row<A>) => boolean
  /** Those that may go at `now`, the retries first. */
  readonly free: (now: number, limit: number, parked: number) => ReadonlyArray<Row<A>>
  readonly lease: (row: Row<A>, holder: string, until: number) => Leased<A>
  /** Answers those whose lease is another's by now. */
  readonly extend: (held: ReadonlyMap<string, number>, until: number) => ReadonlyArray<string>
  /** False: it is another's by now, and nothing was written. */
  readonly park: (entry: Entry<A>, token: number, owner: string, due: number) => boolean
  readonly end: (entry: Entry<A>, token: number, outcome: Outcome<A>) => boolean
  /** Gives back all that `holder` has. */
  readonly release: (holder: string) => void
  readonly bury: (item: A, outcome: Outcome<A>) => void
  readonly letters: (after: number, limit: number) => ReadonlyArray<DeadLetter<A>>
  readonly redrive: (ids: ReadonlyArray<string>, owner: string) => ReadonlyArray<string>
  readonly purge: (ids: ReadonlyArray<string>) => number
}

export const server = <A>({
  clock,
  maxCount = Infinity,
  maxBytes = Infinity,
  keepDead = Infinity,
  sizeOf = () => 0,
}: ServerOptions<A>): Server<A> => {
  const rows = new Map<string, Row<A>>()
  const ears = new Map<string, (note: Note) => void>()
  let dead: ReadonlyArray<DeadLetter<A>> = []
  let bytes = 0
  let tokens = 0
  let died = 0
  let turnedAway = false

  const boundFor = (item: A): 'count' | 'bytes' | undefined => {
    if (rows.size >= maxCount) return 'count'
    return bytes + sizeOf(item) > maxBytes ? 'bytes' : undefined
  }

  const tellOthers = (note: Note, but: string): void => {
    for (const [name, hear] of ears) if (name !== but) hear(note)
    self.onChange()
  }

  const enter = (id: string, item: A, owner: string): Entry<A> => {
    const entry: Entry<A> = { id, item, firstAttemptAt: undefined, progress: undefined }
    rows.set(id, { entry, due: undefined, owner, lease: undefined })
    bytes += sizeOf(item)
    tellOthers({ say: 'due', at: 0 }, owner)
    return entry
  }

  const lay = (entry: Entry<A>, outcome: Outcome<A>): void => {
    const all = [...dead, { id: String(++died), at: clock.now(), entry, outcome }]
    dead = all.slice(Math.max(0, all.length - keepDead))
  }

  /** The row that this token may change. */
  const heldBy = (id: string, token: number): Row<A> | undefined => {
    const row = rows.get(id)
    return row?.lease?.token === token ? row : undefined
  }

  const isFree = ({ lease }: Row<A>): boolean => lease === undefined || lease.until <= clock.now()

  const self: Server<A> = {
    clock,
    bounds: { maxCount, maxBytes },
    rows,
    onChange: () => undefined,
    figures: () => ({ waiting: rows.size, bytes, dead: dead.length }),
    listen: (name, hear) => {
      ears.set(name, hear)
      return () => ears.delete(name)
    },
    insert: (id, item, owner) => {
      const bound = boundFor(item)
      if (bound === undefined) return right(enter(id, item, owner))
      turnedAway = true
      return left(full(item, bound, bound === 'count' ? maxCount : maxBytes))
    },
    isFree,
    free: (now, limit, parked) => {
      const all = [...rows.values()].filter(isFree)
      const retries = all
        .filter(({ due = Infinity }) => due <= now)
        .sort((a, b) => (a.due ?? 0) - (b.due ?? 0))
        .slice(0, Math.min(limit, parked))
      const fresh = all.filter(({ due }) => due === undefined)
      return [...retries, ...fresh.slice(0, limit - retries.length)]
    },
    lease: (row, holder, until) => {
      if (row.owner !== holder) ears.get(row.owner)?.({ say: 'moved', ids: [row.entry.id] })
      row.owner = holder
      row.lease = { token: ++tokens, holder, until }
      return { entry: row.entry, token: tokens, due: row.due }
    },
    extend: (held, until) =>
      [...held].flatMap(([id, token]) => {
        const row = heldBy(id, token)
        if (row?.lease === undefined) return [id]
        row.lease = { ...row.lease, until }
        return []
      }),
    park: (entry, token, owner, due) => {
      const row = heldBy(entry.id, token)
      // Also when this was asked before, and only the answer was lost.
      if (row === undefined) return rows.get(entry.id)?.owner === owner
      row.entry = entry
      row.due = due
      row.lease = undefined
      tellOthers({ say: 'due', at: due }, owner)
      return true
    },
    end: (entry, token, outcome) => {
      if (heldBy(entry.id, token) === undefined) return false
      rows.delete(entry.id)
      bytes -= sizeOf(entry.item)
      if (isDead(outcome)) lay(entry, outcome)
      if (turnedAway) tellOthers({ say: 'room' }, '')
      turnedAway = false
      self.onChange()
      return true
    },
    release: (holder) => {
      for (const row of rows.values()) if (row.lease?.holder === holder) row.lease = undefined
      tellOthers({ say: 'due', at: 0 }, holder)
    },
    bury: (item, outcome) => {
      lay({ id: `buried ${died}`, item, firstAttemptAt: undefined, progress: undefined }, outcome)
    },
    letters: (after, limit) => dead.filter(({ id }) => Number(id) > after).slice(0, limit),
    redrive: (ids, owner) => {
      const wanted = new Set(ids)
      const back: string[] = []
      dead = dead.filter(({ id, entry }) => {
        if (!wanted.has(id) || boundFor(entry.item) !== undefined) return true
        back.push(enter(`${entry.id} again ${id}`, entry.item, owner).id)
        return false
      })
      return back
    },
    purge: (ids) => {
      const before = dead.length
      dead = dead.filter(({ id }) => !ids.includes(id))
      return before - dead.length
    },
  }
  return self
}
