/**
 * What design.md part 3 says, as data: which folder stands on which floor, and where each third party may appear.
 * To change the house, change a line here and say why in docs/decisions.md.
 */

/** Folder under src, and its floor. A file imports lower floors or its own folder. */
export const floors: Readonly<Record<string, number>> = {
  clock: 0,
  internal: 0,
  outcome: 1,
  event: 2,
  sink: 3,
  policy: 3,
  signing: 3,
  transport: 3,
  observe: 3,
  layers: 4,
  outbox: 4,
  operators: 5,
  sinks: 5,
  sources: 5,
  destination: 6,
  client: 6,
  collector: 7,
  testing: 8,
  cli: 9,
}

/** The floor of files that stand in src itself: the root entry, which only re-exports. */
export const ROOT_FLOOR = 10

/** Where a third party may be imported. A place that ends in `/` is a folder under src, else a file; `*` is everywhere. */
export interface Place {
  readonly package: RegExp
  readonly places: ReadonlyArray<string>
  /** Places where only `import type` is allowed, which is gone when it runs. */
  readonly types?: ReadonlyArray<string>
}

/** Everything that src may import from outside. What is not named here is forbidden. */
export const thirdParties: ReadonlyArray<Place> = [
  { package: /^rxjs$/, places: ['*'] },
  { package: /^fp-ts\/lib\/\w+\.js$/, places: ['*'] },
  {
    package: /^io-ts$/,
    places: ['event/', 'operators/validate.ts', 'destination/', 'client/', 'collector/', 'testing/'],
  },
  { package: /^undici$/, places: ['transport/'] },
  { package: /^ipaddr\.js$/, places: ['transport/'] },
  { package: /^debug$/, places: ['observe/'] },
  { package: /^(commander|cli-progress)$/, places: ['cli/'] },
  { package: /^lmdb$/, places: ['outbox/lmdb/'] },
  { package: /^fast-check$/, places: ['testing/'] },
  // Beside HMAC, for ids: of a message that came without one, and of a batch.
  // And for long names of bookmarks.
  {
    package: /^node:crypto$/,
    places: ['signing/', 'event/', 'operators/batch.ts', 'outbox/lmdb/records/StoredBookmark.ts'],
  },
  { package: /^node:https?$/, places: ['collector/', 'testing/', 'cli/'], types: ['signing/'] },
  { package: /^node:(net|tls)$/, places: ['transport/', 'testing/', 'cli/'] },
  { package: /^node:buffer$/, places: ['*'] },
  { package: /^node:dns(\/promises)?$/, places: ['transport/'] },
  // What is loaded only when somebody asked for it, at once, which `import()` cannot do: a log, and a store.
  { package: /^node:module$/, places: ['observe/debugListener.ts', 'outbox/lmdb/opening/loadLmdb.ts'] },
  // Which thread of a process has a store.
  { package: /^node:worker_threads$/, places: ['outbox/lmdb/opening/Owner.ts'] },
  // Bodies that come compressed.
  { package: /^node:zlib$/, places: ['collector/', 'testing/', 'outbox/lmdb/', 'cli/'] },
  // A body's pieces are told from what only looks like them, whatever realm made them.
  { package: /^node:util\/types$/, places: ['collector/'] },
  { package: /^node:diagnostics_channel$/, places: ['observe/'] },
  { package: /^node:util$/, places: ['signing/', 'transport/', 'observe/', 'destination/', 'cli/'] },
  {
    package: /^node:fs(\/promises)?$/,
    places: ['sinks/LineFile.ts', 'sources/ndjson.ts', 'outbox/lmdb/', 'cli/'],
  },
  {
    package: /^node:(stream|readline|string_decoder)(\/promises)?$/,
    places: ['sinks/LineFile.ts', 'sinks/ndjson.ts', 'sources/ndjson.ts', 'cli/'],
  },
  { package: /^node:path$/, places: ['outbox/lmdb/', 'cli/'] },
  { package: /^node:(url|os|process|tty|events)$/, places: ['cli/'] },
]

/** Names that say nothing about what is inside. */
export const bannedNames: ReadonlyArray<string> = [
  'util',
  'utils',
  'common',
  'helper',
  'helpers',
  'misc',
  'base',
  'manager',
  'core',
]

/** What an entry must not load, however far down; by the file that is the entry. */
export const lightEntries: Readonly<Record<string, RegExp>> = {
  'index.ts': /^(undici|commander|cli-progress|lmdb|fast-check)$/,
  'signing/index.ts': /^(undici|commander|cli-progress|lmdb|fast-check|rxjs|io-ts|debug)$/,
}

/** At most so many lines a file and files a folder. */
export const MOST_LINES = 250
export const MOST_FILES = 15
