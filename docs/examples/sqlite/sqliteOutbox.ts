/** An outbox over SQLite, for one process at a time: each change is one transaction, synced to the disk. */
import { isRight, left, right } from 'fp-ts/lib/Either.js'
import { isDead, systemClock } from 'headrace'
import { aboutCorrupt, aboutDead, aboutRetry, deadLetterIn, entryIn, full } from 'headrace/outbox'
import type { DeadLetter, Outbox, OutboxFactoryOptions } from 'headrace/outbox'
import sqlite from 'node-sqlite3-wasm'

const SCHEMA = `create table if not exists dead (id integer primary key autoincrement, text, about);
  create table if not exists item (id integer primary key autoincrement, size, text, due, about, leased);
  create index if not exists free on item (leased, due, id, size); update item set leased = 0 where leased = 1`
const COUNT = `select count(*) as waiting, ifnull(sum(size), 0) as bytes, (select count(*) from dead) as dead from item`
const ADD = 'insert into item (size, text, leased) values (?, ?, 0) returning id'
const FREE = 'select *, ifnull(due, 0) as at from item where leased = 0 and'
const PUT_BACK = 'update item set due = ?, about = ?, leased = 0 where id = ? and leased = 1'
const DEAD = 'select * from dead where id > ? order by id limit ?'
const KEEP = 'delete from dead where id not in (select id from dead order by id desc limit ?)'

export const sqliteOutbox =
  (path: string, { maxCount = 100_000, maxBytes = 100_000_000, keepDead = 1_000 } = {}) =>
  <A>({ codec, clock: { now } = systemClock, onCorrupt }: OutboxFactoryOptions<A>): Outbox<A> => {
    const db = new sqlite.Database(path)
    const sql = (text: string, ...values: sqlite.JSValue[]): any[] => db.all(text, values)
    sql('create table if not exists content as select ? as kind', codec.kind ?? 'items')
    const [{ kind }] = sql('select kind from content')
    if (kind !== (codec.kind ?? 'items')) throw (db.close(), Error(`${path} holds ${kind}: use another file`))
    db.exec(SCHEMA)
    const inTransaction =
      <Of extends unknown[], T>(work: (...of: Of) => T) =>
      (...of: Of): T => {
        db.exec(db.inTransaction ? 'rollback; begin' : 'begin') // The one before it threw.
        const answer = work(...of)
        return (db.exec('commit'), answer)
      }
    const each = <T>(work: (one: T) => void) => inTransaction((list: readonly T[]) => list.forEach(work))
    const add = (item: A) => {
      const [[{ waiting, bytes }], size] = [sql(COUNT), codec.sizeOf(item)]
      if (waiting >= maxCount) return left(full(item, 'count', maxCount))
      if (bytes + size > maxBytes) return left(full(item, 'bytes', maxBytes))
      const [{ id }] = sql(ADD, size, codec.toText(item))
      return right({ id: String(id), item, firstAttemptAt: undefined, progress: undefined })
    }
    /** Ends a leased item. With an `about` it becomes a dead letter. */
    const end = (id: string, about: string | false) => {
      const [row] = sql('delete from item where id = ? and leased = 1 returning text', id)
      if (row && about) sql('insert into dead (text, about) values (?, ?)', row.text, about)
      if (row && about) sql(KEEP, keepDead)
    }
    const take = (row: any) => {
      sql('update item set leased = 1 where id = ?', row.id)
      const entry = entryIn(codec, row)
      if (entry) return [entry]
      end(row.id, aboutCorrupt(now()))
      return (queueMicrotask(() => onCorrupt?.({ id: String(row.id), raw: row.text })), [])
    }
    const letterIn = (row: any) => deadLetterIn(codec, row)
    const remove = inTransaction((goes: (letter: DeadLetter<A>) => boolean) => {
      const gone = sql(DEAD, 0, -1).filter((row) => goes(letterIn(row)))
      return gone.map(({ id }) => (sql('delete from dead where id = ?', id), String(id)))
    })
    let last: any
    const stats = () => (last = db.isOpen ? { ...sql(COUNT)[0], maxCount, maxBytes } : last)
    return {
      keeps: () => true,
      enqueue: inTransaction((items) => items.map(add)),
      lease: inTransaction((at, { count, retries, retriesOnly }) => {
        const due = sql(`${FREE} due <= ? order by due, id limit ?`, at, Math.min(count, retries))
        const rest = retriesOnly ? 0 : count - due.length
        return [...due, ...sql(`${FREE} due is null order by id limit ?`, rest)].flatMap(take)
      }),
      retries: () => sql('select * from item where due >= 0').flatMap((row) => entryIn(codec, row) ?? []),
      nack: each(({ entry, due }) => sql(PUT_BACK, due, aboutRetry(entry), entry.id)),
      ack: each(({ entry, outcome }) => end(entry.id, isDead(outcome) && aboutDead(entry, outcome, now()))),
      takeRemaining: () => [],
      nextDue: (only) => sql(`${FREE} (due >= 0 or ?) order by due limit 1`, only ? 0 : 1)[0]?.at,
      dead: {
        list: ({ after = '0', limit = 1_000 } = {}) => sql(DEAD, after, limit).map(letterIn),
        redrive: (fits) => remove((it) => it.reason === 'ended' && fits(it) && isRight(add(it.entry.item))),
        purge: (fits) => remove(fits).length,
      },
      stats,
      close: async () => void (db.isOpen && (stats(), db.close())),
    }
  }
