/**
 * The tables and functions of the outboxes in a PostgreSQL schema.
 *
 * A leased row has the id of its worker, and a worker has one row: while that row is renewed, all its leases
 * hold, and when it is deleted, they end. A row without a worker is free when it is the turn of its key. One
 * partial index holds the free rows in the order of leases.
 *
 * The statements are functions, because their plans must not depend on statistics: after a burst into an
 * empty table the planner took one that sorted all of it (356 ms for 200 rows).
 *
 * @module
 */
import { codeOf, messageOf } from '../../core/failure.ts'
import { checkOptions, guarded, strict, withDefault } from '../../core/options.ts'
import { ConfigError, ShownError } from '../../core/refusal.ts'
import type { AskServer, PostgresPool } from './statements.ts'

/** The version of what `schemaSql` makes. A newer one replaces functions, and keeps rows. */
export const SCHEMA_VERSION = 3

/** The name of a schema. It stands unquoted in statements. */
export const schemaName = guarded(
  'a name of at most 50 of a-z, 0-9 and _, not a digit first',
  (value): value is string => typeof value === 'string' && /^[a-z_][a-z0-9_]{0,49}$/.test(value),
)

/** A function of another role, in a schema of its path, must not run as the role that calls ours. */
const OWN_NAMES = 'set search_path = pg_catalog, pg_temp'

/**
 * The options of a function whose plan is the same for ten rows and for millions. A plan with a step that is
 * "off" has a cost at which PostgreSQL compiles it first, which takes 0.5 s.
 */
const STEADY_PLAN = `language plpgsql ${OWN_NAMES} set enable_seqscan = off set enable_bitmapscan = off
  set enable_sort = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off`

/** Ends before the sender gives up: an ended connection would leave a backend that waits on. */
const IN_TIME = "set lock_timeout = '25s'"

/** The statements that make or upgrade the schema, for a role that may. Run them again at each upgrade. */
export const schemaSql = (schema = 'headrace'): string => {
  checkOptions('schema', strict({ schema: schemaName }), { schema })
  const lockOf = (key: string): string => `hashtextextended('${schema}:' || q || ':' || ${key}, 0)`
  const lockKeys = `perform pg_advisory_xact_lock(hash) from (
      select distinct ${lockOf('k')} as hash from unnest(keys) k where k is not null order by 1) locks;`
  // An older snapshot would not see other items of a key.
  const readCommitted = `if current_setting('transaction_isolation') not like 'read %' then
    raise exception 'items with a key need a transaction with READ COMMITTED';
  end if;`
  // By all columns of its index, as a lease: by the id alone, statistics made the planner walk all items.
  const giveTurns = `update ${schema}.item i set turn = true from unnest(keys) k where not i.turn and i.id = (
      select e.id from ${schema}.item e
      where e.queue = q and e.key <= k and (e.key, e.id) > (k, 0) order by e.key, e.id limit 1);`
  // "If not exists" would wait for transactions that add items, and all others would wait behind it.
  const index = (name: string, on: string): string =>
    `do $$ begin if pg_catalog.to_regclass('${schema}.${name}') is null then
      create index ${name} on ${schema}.item ${on}; end if; end $$;`
  return `
create schema if not exists ${schema};
create table if not exists ${schema}.version (version int not null);
create table if not exists ${schema}.queue (queue text primary key, kind text not null, owner text);
create table if not exists ${schema}.worker (
  id bigint generated always as identity primary key, queue text not null, expires bigint not null
) with (fillfactor = 50);
-- The generation: statements that lease or put back name it, and do nothing after "free" has raised it.
do $$ begin if not exists (select from pg_catalog.pg_attribute
  where attrelid = '${schema}.worker'::regclass and attname = 'generation') then
  -- All workers would wait behind it.
  set local lock_timeout = '3s';
  alter table ${schema}.worker add generation bigint not null default 0; end if;
exception when lock_not_available then
  raise exception 'a dump, or another long transaction, holds a table: migrate when it has ended'; end $$;
create table if not exists ${schema}.item (
  id bigint generated always as identity primary key, queue text not null,
  due bigint not null default 0, -- 0: never put back; else milliseconds since 1970 by the server's clock
  worker bigint, -- -1: no item, but a turn of its key that is to be given
  turn boolean not null default true, key text,
  size float8 not null, about text, item text not null
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
  autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_insert_scale_factor = 0,
  autovacuum_vacuum_insert_threshold = 100000);
${index('item_free', '(queue, due, id) where worker is null and turn')}
${index('item_key', '(queue, key, id) where key is not null')}
${index('item_turn', '(queue) where worker = -1')}
create table if not exists ${schema}.dead (
  queue text not null, id bigint generated always as identity, at bigint not null,
  key text, size float8 not null,
  about text, -- its entry and its outcome; null: the item could not be read
  item text not null, primary key (queue, id));
create table if not exists ${schema}.bookmark (queue text, name text, value text, primary key (queue, name));

-- Adds items, leased to a worker if that is alive: 0 is none, null a transaction of a host. Of a key only the
-- first item is free or leased. The bookmarks are names and values in turns.
create or replace function ${schema}.enqueue(
  q text, me bigint, gen bigint, items text[], sizes float8[], keys text[], marks text[])
returns table (id bigint, worker bigint) ${STEADY_PLAN} as $$
#variable_conflict use_column
declare alive bigint;
begin
  if me is not null then
    perform set_config('lock_timeout', '25s', true);
    -- The lock keeps another worker from ending the leases of this one meanwhile.
    select w.id into alive from ${schema}.worker w where w.id = me and w.generation = gen for key share;
  end if;
  if marks is not null then
    insert into ${schema}.bookmark
    select q, marks[n], marks[n + 1] from generate_series(1, array_length(marks, 1), 2) n
    on conflict (queue, name) do update set value = excluded.value;
  end if;
  if keys is null then
    return query insert into ${schema}.item (queue, worker, size, item)
      select q, alive, u.size, u.item from unnest(items, sizes) with ordinality u (item, size, n) order by n
      returning item.id, item.worker;
    return;
  end if;
  ${readCommitted}
  ${lockKeys}
  return query insert into ${schema}.item (queue, worker, turn, key, size, item)
    select q, case when first.turn then alive end, first.turn, first.key, first.size, first.item from (
      select u.*, u.key is null or (row_number() over (partition by u.key order by u.n) = 1 and not exists (
        select from ${schema}.item other where other.queue = q and other.key = u.key)) as turn
      from unnest(items, sizes, keys) with ordinality u (item, size, key, n)) first
    order by first.n returning item.id, item.worker;
end $$;

-- Leases retries that are due, then new items. The last row has the id -1 and the due time of the next retry.
-- No row: there is no worker of this generation. The bounds "from" skip entries of rows that were leased.
create or replace function ${schema}.lease(
  q text, me bigint, gen bigint, at bigint, retries int, news int, due_from bigint, id_from bigint)
returns table (id bigint, due bigint, about text, item text, keyed boolean) ${STEADY_PLAN} ${IN_TIME} as $$
#variable_conflict use_column
begin
  perform from ${schema}.worker w where w.id = me and w.generation = gen for key share;
  if not found then return; end if;
  return query
  with old as materialized (
    select i.ctid as place from ${schema}.item i
    where i.queue = q and i.worker is null and i.turn and i.due >= greatest(due_from, 1) and i.due <= at
    order by i.due, i.id limit retries for update skip locked),
  new as materialized (
    select i.ctid as place from ${schema}.item i
    where i.queue = q and i.worker is null and i.turn and i.due <= 0 and (i.due, i.id) > (0, id_from)
    order by i.due, i.id limit news for update skip locked),
  taken as (
    update ${schema}.item i set worker = me
    where i.ctid = any(array(select place from old union all select place from new))
    returning i.id, i.due, i.about, i.item, i.key)
  select t.id, t.due, t.about, t.item, t.key is not null from taken t order by t.due = 0, t.due, t.id;
  return query select -1::bigint, (
    select i.due from ${schema}.item i where i.queue = q and i.worker is null and i.turn
      and i.due >= greatest(due_from, 1) order by i.due limit 1), null, null, false;
end $$;

-- Removes items that ended. Those with an "about" are dead letters; it is '' if the item could not be read.
-- Then it is the turn of the next item of each key. If a transaction holds a key for long, a row of that key
-- with the worker -1 says that a turn is to be given, and "renew" gives it: no other key waits.
create or replace function ${schema}.ack(
  q text, mine bigint[], at bigint, ids bigint[], keyed boolean, abouts text[])
returns table (gone int, size float8, dead int) ${STEADY_PLAN} ${IN_TIME} as $$
#variable_conflict use_column
declare keys text[]; held text[]; usual text := current_setting('lock_timeout');
begin
  if keyed then
    ${readCommitted}
    -- A condition on the key would allow the index of keys, in which each id is looked for among all.
    select array_agg(distinct i.key) filter (where i.key is not null) into keys from ${schema}.item i
    where i.id = any(ids);
    begin
      perform set_config('lock_timeout', '1s', true);
      ${lockKeys}
      perform set_config('lock_timeout', usual, true);
    exception when lock_not_available then
      select array_agg(k) filter (where taken), array_agg(k) filter (where not taken) into keys, held
      from (select k, pg_try_advisory_xact_lock(${lockOf('k')}) as taken from unnest(keys) k) locks;
      insert into ${schema}.item (queue, worker, turn, key, size, item)
      select q, -1, false, k, 0, '' from unnest(held) k;
    end;
  end if;
  if abouts is null then
    return query with gone as (
      delete from ${schema}.item i where i.id = any(ids) and i.worker = any(mine) returning i.size)
    select count(*)::int, coalesce(sum(g.size), 0), 0 from gone g;
  else
    return query with gone as (
      delete from ${schema}.item i using unnest(ids, abouts) with ordinality k (id, about, n)
      where i.id = k.id and i.worker = any(mine) returning i.key, i.size, i.item, k.about, k.n),
    buried as (
      insert into ${schema}.dead (queue, at, key, size, about, item)
      select q, at, g.key, g.size, nullif(g.about, ''), g.item from gone g
      where g.about is not null order by g.n)
    select count(*)::int, coalesce(sum(g.size), 0), count(g.about)::int from gone g;
  end if;
  ${giveTurns}
end $$;

-- Puts leased items back until they are due, if the worker has this generation: one that runs after it was
-- repeated would put back what is leased anew.
create or replace function ${schema}.nack(
  me bigint, gen bigint, ids bigint[], dues bigint[], abouts text[])
returns table (alive boolean) ${STEADY_PLAN} ${IN_TIME} as $$
begin
  perform from ${schema}.worker w where w.id = me and w.generation = gen for key share;
  alive := found;
  update ${schema}.item i set due = k.due, about = k.about, worker = null
  from unnest(ids, dues, abouts) k (id, due, about) where alive and i.id = k.id and i.worker = me;
  return next;
end $$;

-- Renews a worker, ends the leases of those whose time is over, and gives turns. Answers whether it is alive,
-- how many workers are gone and turns given, and the server's time.
create or replace function ${schema}.renew(q text, me bigint, at bigint, lease_time bigint)
returns table (alive boolean, gone int, now bigint) ${STEADY_PLAN} ${IN_TIME} as $$
declare ended bigint[]; keys text[];
begin
  update ${schema}.worker set expires = at + lease_time where id = me;
  alive := found;
  select array_agg(id) into ended from (
    select w.id from ${schema}.worker w
    where w.queue = q and w.expires < at and w.id is distinct from me for update skip locked) late;
  gone := coalesce(array_length(ended, 1), 0);
  if gone > 0 then
    update ${schema}.item set worker = null where queue = q and worker = any(ended);
    delete from ${schema}.worker where id = any(ended);
  end if;
  with taken as (
    delete from ${schema}.item i where i.id = any(array(
      select e.id from ${schema}.item e
      where e.queue = q and e.worker = -1 and pg_try_advisory_xact_lock(${lockOf('e.key')}) limit 1000))
    returning i.key)
  select array_agg(distinct t.key) into keys from taken t;
  ${giveTurns}
  gone := gone + coalesce(array_length(keys, 1), 0);
  now := (extract(epoch from clock_timestamp()) * 1000)::bigint;
  return next;
end $$;

-- Ends the leases of a worker but for those of "kept". Without a generation it ends the worker too.
create or replace function ${schema}.free(q text, me bigint, gen bigint, kept bigint[])
returns void language plpgsql ${OWN_NAMES} ${IN_TIME} as $$
begin
  -- A statement that leases for an older generation has ended then, or finds no worker; one that frees, too.
  perform from ${schema}.worker w where w.id = me and (gen is null or w.generation < gen) for update;
  if not found then return; end if;
  update ${schema}.item i set worker = null where i.queue = q and i.worker = me and i.id <> all(kept);
  update ${schema}.worker w set generation = gen where w.id = me and gen is not null;
  delete from ${schema}.worker w where w.id = me and gen is null;
end $$;

-- Moves dead letters back, as new items. Answers their ids.
create or replace function ${schema}.redrive(q text, ids bigint[])
returns table (id bigint) ${STEADY_PLAN} ${IN_TIME} as $$
#variable_conflict use_column
declare moved record;
begin
  with gone as (
    delete from ${schema}.dead d where d.queue = q and d.id = any(ids) and d.about is not null returning d.*)
  select array_agg(g.id) as ids, array_agg(g.item order by g.id) as items,
    array_agg(g.size order by g.id) as sizes,
    case when bool_or(g.key is not null) then array_agg(g.key order by g.id) end as keys
  into moved from gone g;
  if moved.ids is not null then
    perform ${schema}.enqueue(q, 0, 0, moved.items, moved.sizes, moved.keys, null);
    return query select unnest(moved.ids);
  end if;
end $$;

insert into ${schema}.version select 0 where not exists (select from ${schema}.version);
update ${schema}.version set version = greatest(version, ${String(SCHEMA_VERSION)});
`
}

const migrateOptions = strict({ schema: withDefault(schemaName, 'headrace') })

/** Makes the schema, or upgrades it. Safe beside others that do so, and beside workers of its version. */
export const migrate = async (pool: PostgresPool, options: { schema?: string } = {}): Promise<void> => {
  const { schema } = checkOptions('options of migrate', migrateOptions, options)
  const lock = `pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('${schema}:migrate', 0))`
  // Several statements in one query are one transaction; two at a time would meet in the catalogs.
  await pool.query({ text: `select ${lock};${schemaSql(schema)}` })
}

const unopened = (why: string, cause?: unknown): ShownError =>
  new ShownError(`the outbox in PostgreSQL did not open: ${why}`, { cause })

/** Why PostgreSQL did not open a queue, with the remedy if it is known. */
const explained = (error: unknown, schema: string): Error => {
  const code = codeOf(error)
  const isMissing = code === '42P01' || code === '3F000' || code === '42883'
  const missing = `its schema ${schema} is missing: run migrate(pool), or "headrace outbox migrate"`
  const readOnly = 'its server takes no changes: give the pool of the primary'
  const remedy = isMissing ? missing : code === '25006' ? readOnly : messageOf(error) || code
  return unopened(remedy, error)
}

/** Checks the schema, and that the queue has the same use as ever. */
export const openQueue = async (
  ask: AskServer,
  schema: string,
  queue: string,
  kind: string,
  owner: string | undefined,
): Promise<void> => {
  const asked = <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((error: unknown) => Promise.reject(explained(error, schema)))
  const { version = 0, encoding = '', isolation = '' } = (await asked(ask('version')))[0] ?? {}
  if (version < SCHEMA_VERSION) throw unopened(`its schema ${schema} is older: run migrate(pool)`)
  if (version > SCHEMA_VERSION) throw unopened(`a newer headrace made its schema ${schema}`)
  // With the snapshot of its start "free" would not see what ended before it got its lock.
  if (!isolation.startsWith('read '))
    throw unopened(`its pool has default_transaction_isolation ${isolation}: give one with READ COMMITTED`)
  if (encoding !== 'UTF8') throw unopened(`its database has the encoding ${encoding}: make one with UTF8`)
  const use = () => asked(ask('use', [queue, kind, owner ?? null]))
  // Two processes may use it first at the same time: one of them sees it a moment later.
  const [found] = [...(await use()), ...(await use())]
  const wrong = (what: string): Error => {
    const message = `has the queue ${queue}, which holds ${what}: use another queue`
    return new ConfigError('Invalid options', [{ path: 'outbox', message }])
  }
  if (found !== undefined && found.kind !== kind) throw wrong(`${found.kind} and not ${kind}`)
  const other = found?.owner ?? owner
  if (owner !== undefined && other !== owner) throw wrong(`items of ${String(other)} and not of ${owner}`)
}
