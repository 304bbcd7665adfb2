/** An outbox over SQLite, for one process at a time: each change is one transaction, synced to the disk. */
import { left, right } from 'fp-ts/lib/Either.js'
import { isDead, systemClock } from 'headrace'
import { full, type Outbox, type OutboxFactoryOptions } from 'headrace/outbox'
import sqlite from 'node-sqlite3-wasm'

const SCHEMA = `create table if not exists content (kind);
  create table if not exists item (id integer primary key autoincrement, size, key, text, due, state);
  create table if not exists dead (id integer primary key autoincrement, letter);
  create index if not exists item_due on item (due, id);
  create index if not exists item_key on item (key, id);
  create index if not exists item_size on item (size);
  create temp table leased (id integer primary key)`
const COUNT = `select count(*) as waiting, ifnull(sum(size), 0) as bytes, (select count(*) from dead) as dead from item`
const FREE = `select * from item where id not in (select id from leased)
  and not exists (select 1 from item as first where first.key = item.key and first.id < item.id)`

export const sqliteOutbox =
  (path: string, { maxCount = 100_000, maxBytes = 100_000_000, keepDead = 1_000 } = {}) =>
  <A>({ codec, keyOf, clock = systemClock, onCorrupt }: OutboxFactoryOptions<A>): Outbox<A> => {
    const db = new sqlite.Database(path)
    const sql = (text: string, ...values: sqlite.JSValue[]): any[] => db.all(text, values)
    const change = <T>(work: () => T): T => {
      db.exec(db.inTransaction ? 'rollback; begin' : 'begin') // The one before it threw.
      const answer = work()
      db.exec('commit')
      return answer
    }
    db.exec(SCHEMA)
    sql('insert into content select ? where not exists (select 1 from content)', codec.kind ?? 'items')
    const [{ kind }] = sql('select kind from content')
    if (kind !== (codec.kind ?? 'items'))
      throw (db.close(), new Error(`${path} holds ${kind}: use another file`))
    const add = (item: A) => {
      const [[{ waiting, bytes }], size] = [sql(COUNT), codec.sizeOf(item)]
      if (waiting >= maxCount) return left(full(item, 'count', maxCount))
      if (bytes + size > maxBytes) return left(full(item, 'bytes', maxBytes))
      const insert = `insert into item (size, key, text, state) values (?, ?, ?, '{}') returning id`
      const [{ id }] = sql(insert, size, keyOf?.(item) ?? null, codec.toText(item))
      return right({ id: String(id), item, firstAttemptAt: undefined, progress: undefined })
    }
    const bury = (letter: object) => {
      sql('insert into dead (letter) values (?)', JSON.stringify({ at: clock.now(), ...letter }))
      sql('delete from dead where id not in (select id from dead order by id desc limit ?)', keepDead)
    }
    const take = ({ id, text, state }: any) => {
      sql('insert into leased values (?)', id)
      try {
        return [{ id: String(id), item: codec.fromText(text), ...JSON.parse(state) }]
      } catch {
        sql('delete from item where id = ?', id)
        bury({ reason: 'corrupt', raw: text })
        return (queueMicrotask(() => onCorrupt?.({ id: String(id), raw: text })), [])
      }
    }
    const release = (id: string) => sql('delete from leased where id = ? returning id', id).length > 0
    const withItem = ({ id, letter }: any) => {
      const { text, entry, outcome, ...found } = { id: String(id), ...JSON.parse(letter) }
      if (text === undefined) return found
      const item = codec.fromText(text)
      return { ...found, entry: { ...entry, item }, outcome: { ...outcome, item } }
    }
    const removeDead = (goes: (deadLetter: any) => boolean) =>
      change(() => {
        const gone = sql('select * from dead order by id').filter((row) => goes(withItem(row)))
        for (const { id } of gone) sql('delete from dead where id = ?', id)
        return gone.map(({ id }) => String(id))
      })
    let last: any
    const stats = () => (last = db.isOpen ? { ...sql(COUNT)[0], maxCount, maxBytes } : last)
    return {
      keeps: () => true,
      ...(keyOf && { orders: true }),
      enqueue: (items) => change(() => items.map(add)),
      lease: (now, { count, retries, retriesOnly }) =>
        change(() => {
          const due = sql(`${FREE} and due <= ? order by due, id limit ?`, now, Math.min(count, retries))
          const rest = retriesOnly ? 0 : count - due.length
          return [...due, ...sql(`${FREE} and due is null order by id limit ?`, rest)].flatMap(take)
        }),
      nack: (list) =>
        change(() => {
          for (const { entry, due } of list) {
            const state = JSON.stringify({ ...entry, item: undefined })
            if (release(entry.id))
              sql('update item set due = ?, state = ? where id = ?', due, state, entry.id)
          }
        }),
      ack: (list) =>
        change(() => {
          for (const { entry, outcome } of list.filter((each) => release(each.entry.id))) {
            sql('delete from item where id = ?', entry.id)
            const text = codec.toText(entry.item)
            if (isDead(outcome))
              bury({ reason: 'ended', text, entry: { ...entry, item: 0 }, outcome: { ...outcome, item: 0 } })
          }
        }),
      takeRemaining: () => [],
      nextDue: (retriesOnly) => {
        const [next] = sql(`${FREE} ${retriesOnly ? 'and due is not null' : ''} order by due limit 1`)
        return next && (next.due ?? 0)
      },
      dead: {
        list: ({ after = '0', limit = 1_000 } = {}) =>
          sql('select * from dead where id > ? order by id limit ?', after, limit).map(withItem),
        redrive: (matches) =>
          removeDead(
            (each) => each.reason === 'ended' && matches(each) && add(each.entry.item)._tag === 'Right',
          ),
        purge: (matches) => removeDead(matches).length,
      },
      stats,
      close: async () => void (db.isOpen && (stats(), db.close())),
    }
  }
