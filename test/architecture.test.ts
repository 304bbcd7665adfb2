/**
 * The shape of the repository: which room may import which, where third parties may appear, how large everything may get, and
 * which words are not used. To change the shape, change a line here and say why in docs/decisions.md.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

/** The rooms of src from the ground up: a file imports its own room and those before it. */
const rooms = [
  ...['core', 'event', 'schema', 'policy', 'signing', 'log', 'sink', 'otel'],
  ...['outbox', 'outbox/lmdb', 'outbox/postgres', 'http', 'operators', 'sources'],
  ...['destination', 'client', 'inspector', 'collector', 'testing', 'testing/laws', 'cli'],
]

const places: ReadonlyArray<readonly [RegExp, RegExp]> = [
  [/^(rxjs|node:buffer)$/, /./],
  // Its types may stand anywhere; its values cost each process some 50 ms, and core/either.ts has those in use.
  [/^fp-ts\/lib\/\w+\.js$/, /^(cli\/options\.ts|testing\/laws\/)/],
  [
    /^io-ts$/,
    /^(core\/options|operators\/validate|(event|schema|outbox\/lmdb|destination|client|collector|http|testing\/laws)\/\w+)\.ts$/,
  ],
  [/^(undici(\/lib\/dispatcher\/client\.js)?|ipaddr\.js|node:dns(\/promises)?)$/, /^http\//],
  [/^debug$/, /^log\//],
  [/^node:diagnostics_channel$/, /^(log|otel)\//],
  [/^@opentelemetry\/api$/, /^otel\//],
  [/^(commander|node:(url|os|process|tty|stream\/consumers))$/, /^cli\//],
  [/^pg$/, /^cli\/server\.ts$/],
  [/^(lmdb|node:worker_threads)$/, /^outbox\/lmdb\//],
  [/^(fast-check|node:vm)$/, /^testing\/laws\//],
  [/^node:(async_hooks|timers)$/, /^(core\/ownContext|testing\/virtualClock)\.ts$/],
  [/^node:crypto$/, /^(inspector|outbox\/postgres|testing\/laws|cli|core\/package|testing\/certificate)\b/],
  [/^node:(https?|events)$/, /^(collector|inspector|testing|cli|signing)\//],
  [/^node:(net|tls)$/, /^(http|inspector|testing|cli)\//],
  [/^node:module$/, /^core\/package\.ts$/],
  [/^node:zlib$/, /^(collector|testing|outbox\/lmdb|cli)\//],
  [/^node:util\b/, /^(core|event|schema|signing|http|log|destination|collector|testing\/laws|cli)\//],
  [/^node:fs(\/promises)?$/, /^(sink\/ndjson|sources\/ndjson|http\/lookup)\.ts$|^(outbox\/lmdb|cli)\//],
  [/^node:(stream|readline|string_decoder)\b/, /^(sink\/ndjson|sources\/\w+)\.ts$|^(cli|inspector)\//],
  [/^node:path$/, /^(collector|outbox\/lmdb|cli)\//],
]

/** What an entry must not load, however far down. */
const light: Readonly<Record<string, RegExp>> = {
  'index.ts': /^(undici.*|commander|lmdb|fast-check)$/,
  'destination/index.ts': /^(undici.*|commander|lmdb|debug|fast-check)$/,
  'client/index.ts': /^(undici.*|commander|lmdb|debug|fast-check)$/,
  'collector/index.ts': /^(undici.*|commander|lmdb|debug|fast-check)$/,
  'testing/index.ts': /^(commander|lmdb|fast-check)$/,
  'signing/index.ts': /^(undici|commander|lmdb|fast-check|rxjs|io-ts|debug)$/,
}

/** Where the code stands. Beside what outboxes of servers were granted, 19,200 lines of code and 31,500 of tests are wanted. */
const budget = { files: 218, lines: 32520, code: 23800, test: 34200, file: 400, names: 28 }

// In pieces, so that this file does not match itself.
const words = new RegExp(
  [
    ...['some|body', 'no|body', 'who|ever', 'so |many', 'in |keeping', 'the |books'],
    ...['an earlier |life', 'spo|ilt', 'is |owed'],
  ]
    .map((word) => `\\b${word.replace('|', '')}\\b`)
    .concat('(?<!dead[- ])\\blett' + 'ers\\b')
    .join('|'),
  'i',
)

const root = fileURLToPath(new URL('..', import.meta.url))
const listFiles = ['-c', 'safe.directory=*', 'ls-files', '-z']
const paths = execFileSync('git', listFiles, { cwd: root, encoding: 'utf8' }).split('\0')
const tracked = paths.filter((path) => path !== '')
const INDEX = /(^|\/)index\.ts$/
type Files = Readonly<Record<string, string>>
const textOf = (at: string) => readFileSync(`${root}${at}`, 'utf8')
const read = (pattern: RegExp): Files =>
  Object.fromEntries(tracked.filter((at) => pattern.test(at)).map((at) => [at, textOf(at)]))
const src: Files = Object.fromEntries(Object.entries(read(/^src\//)).map(([at, text]) => [at.slice(4), text]))

/** Files of src without a test of their name. */
const unnamed: ReadonlyArray<readonly [RegExp, why: string]> = [
  [/(^|\/)index\.ts$|\.d\.ts$/, 'no code of their own'],
  [/^(core\/(awaitable|outcome)|event\/limits|outbox\/lmdb\/contract)\.ts$/, 'types and values'],
  [/^core\/carry\.ts$/, 'test/laws/acknowledged.laws.ts'],
  [/^outbox\/(deliveries|leases|ledger|storeWrites)\.ts$/, 'parts of the relay: relay.test.ts'],
  [/^outbox\/stored\.ts$/, 'part of two stores: records.test.ts, postgresOutbox.test.ts'],
  [/^outbox\/postgres\/(?!postgresOutbox)/, 'in postgresOutbox.test.ts and test/laws/postgres.laws.ts'],
  [/^otel\/(metrics|traceContext)\.ts$/, 'parts of one function: telemetry.test.ts'],
  [/^inspector\/(page|story)\.ts$|^outbox\/deadLetters\.ts$/, 'recorder.test.ts, inspector.test.ts'],
  [/^http\/(bareIngestion|bareWebhook|ingestionAnswer|tls)\.ts$/, 'parts of a sink: webhook, ingestion'],
  [/^cli\/(main|program|server)\.ts$/, 'each test of a command runs them'],
  [/^client\/processExit\.ts$/, 'needs processes: test/process/clientExit.test.ts'],
  [/^sources\/waitForRoom\.ts$/, 'test/laws/waiting.laws.ts'],
  [/^sources\/watchdog\.ts$/, 'pull.test.ts, acknowledged.test.ts'],
  [/^testing\/laws\//, 'test/mutants/published.mutants.ts'],
]

interface Import {
  readonly from: string
  readonly to: string
  /** `type` is gone when the code runs, `lazy` loads when its line runs. */
  readonly kind: 'value' | 'type' | 'lazy'
}

const importsOf = (files: Files): ReadonlyArray<Import> =>
  Object.entries(files).flatMap(([from, text]) => {
    const resolved = (specifier: string): string =>
      specifier.startsWith('.') ? posix.join(posix.dirname(from), specifier) : specifier
    const named = [...text.matchAll(/^(?:import|export) (type )?(?:[\w*{][^'"()=;/]*from )?'([^']+)'/gm)]
    const lazy = [...text.matchAll(/(?<!\* .*)\b(?:import|getBuiltinModule)\(\s*'([^']+)'/g)]
    return [
      ...named.map(([, is, to = '']) => ({ from, to: resolved(to), kind: is ? 'type' : 'value' }) as const),
      ...lazy.map(([, to = '']) => ({ from, to: resolved(to), kind: 'lazy' }) as const),
    ]
  })

const isOurs = ({ to }: Import): boolean => to.endsWith('.ts')
const roomOf = (path: string): string => posix.dirname(path)
const lineCount = (files: Files, count = (text: string): number => text.split('\n').length - 1): number =>
  Object.values(files).reduce((sum, text) => sum + count(text), 0)
const codeLines = (text: string): number =>
  text
    .replace(/^\s*\/\*[\s\S]*?\*\//gm, '')
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s*\/\//.test(line)).length

/** A test stands in the folder of its room, or with the laws. */
const withoutTest = (files: Files, tests: ReadonlyArray<string>): ReadonlyArray<string> =>
  Object.keys(files).filter((path) => {
    const room = path.split('/')[0] ?? ''
    const name = posix.basename(path, '.ts')
    const isTest = new RegExp(`^test/(${room}|laws)/(.*/)?${name}\\.(test|laws)\\.ts$`)
    return !tests.some((test) => isTest.test(test)) && !unnamed.some(([exempt]) => exempt.test(path))
  })

/** Top-level names that stand in more than one file: mostly one name for two things. */
const sharedNames = (files: Files): ReadonlyArray<string> => {
  const declared = /^(?:export )?(?:const|let|(?:async )?function|class|interface|type) (\w+)/gm
  const namesOf = (text: string) => new Set([...text.matchAll(declared)].map(([, name = '']) => name))
  const all = Object.values(files).flatMap((text) => [...namesOf(text)])
  return [...new Set(all.filter((name, at) => all.indexOf(name) < at))]
}

const SAYS_NOTHING = /\b(utils?|common|helpers?|misc|base|manager)\b/i
const rules = {
  'a file imports its own room and those below it': (files: Files) =>
    importsOf(files).flatMap((each) => {
      const [here, there] = [rooms.indexOf(roomOf(each.from)), rooms.indexOf(roomOf(each.to))]
      if (!isOurs(each) || roomOf(each.from) === '.') return []
      if (here < 0) return [`${each.from} stands in no room`]
      return each.to in files && there >= 0 && there <= here ? [] : [`${each.from} imports ${each.to}`]
    }),
  'no circles': (files: Files) => {
    const imports = importsOf(files).filter(isOurs)
    const done = new Set<string>()
    const circles: string[] = []
    const visit = (path: string, trail: ReadonlyArray<string>): void => {
      if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(' -> '))
      if (trail.includes(path) || done.has(path)) return
      for (const { from, to } of imports) if (from === path) visit(to, [...trail, path])
      done.add(path)
    }
    for (const path of Object.keys(files)) visit(path, [])
    return circles
  },
  'third parties stand in their places': (files: Files) =>
    importsOf(files)
      .filter((each) => !isOurs(each) && !(each.kind === 'type' && each.to.startsWith('fp-ts/')))
      .filter(({ from, to }) => !places.some(([name, place]) => name.test(to) && place.test(from)))
      .map(({ from, to }) => `${from} imports ${to}`),
  'light entries stay light': (files: Files) =>
    Object.entries(light).flatMap(([entry, heavy]) => {
      const loads = new Set([entry])
      const imports = importsOf(files).filter(({ kind }) => kind === 'value')
      for (const path of loads) for (const { from, to } of imports) if (from === path) loads.add(to)
      return [...loads].filter((each) => heavy.test(each)).map((each) => `${entry} loads ${each}`)
    }),
  'an index re-exports by name and is imported by no other file': (files: Files) => [
    ...importsOf(files).flatMap(({ from, to }) => (INDEX.test(to) ? [`${from} imports ${to}`] : [])),
    ...Object.entries(files).flatMap(([path, text]) =>
      INDEX.test(path) && /^(export \* from|export (const|function)|const )/m.test(text) ? [path] : [],
    ),
  ],
  'files are short and have telling names': (files: Files) =>
    Object.entries(files).flatMap(([path, text]) => [
      ...(text.split('\n').length - 1 > budget.file ? [`${path} is longer than ${budget.file} lines`] : []),
      ...(SAYS_NOTHING.test(path) ? [`${path} has a name that says nothing`] : []),
    ]),
  'plain words': (files: Files) =>
    Object.entries(files).flatMap(([path, text]) =>
      text.split('\n').flatMap((line, at) => (words.test(line) ? [`${path}:${at + 1} ${line.trim()}`] : [])),
    ),
  'no line above 110 columns': (files: Files) =>
    Object.entries(files)
      .filter(([, text]) => /.{111}/.test(text))
      .map(([path]) => path),
  'nothing is silenced or left for later': (files: Files) =>
    Object.entries(files).flatMap(([path, text]) =>
      /eslint-disable|@ts-ignore|@ts-nocheck|\b(TO|FIX)(DO|ME)\b/.test(text) ? [path] : [],
    ),
  'nothing of one machine': (files: Files) =>
    Object.entries(files).flatMap(([path, text]) => {
      const found =
        /(?<![\w.~-])\/(work|root|home\/\w+|Users\/\w+)\/|"resolved"\s*:|\bregistry\.[\w-]+\.\w+/.exec(text)
      return found ? [`${path} says ${found[0]}`] : []
    }),
}

const broken: Readonly<Record<keyof typeof rules, Files>> = {
  'a file imports its own room and those below it': { 'core/a.ts': "import '../sink/b.ts'", 'sink/b.ts': '' },
  'no circles': { 'core/a.ts': "import './b.ts'", 'core/b.ts': "import type { A } from './a.ts'" },
  'third parties stand in their places': { 'core/a.ts': "import { Pool } from 'undici'" },
  'light entries stay light': {
    'index.ts': "export { a } from './http/a.ts'",
    'http/a.ts': "import 'undici'",
  },
  'an index re-exports by name and is imported by no other file': { 'index.ts': "export * from './a.ts'" },
  'files are short and have telling names': { 'core/helpers.ts': '' },
  'plain words': { 'a.ts': '// who' + 'ever reads this' },
  'no line above 110 columns': { 'a.ts': '-'.repeat(111) },
  'nothing is silenced or left for later': { 'a.ts': '// TO' + 'DO' },
  'nothing of one machine': { 'a.md': ['', 'home', 'ada', ''].join('/') },
}

/** The picture of the code: the floor of each room, and the rooms that it imports, without those that follow from others. */
const picture = (): ReadonlyArray<string> => {
  const links = new Set(importsOf(src).map(({ from, to }) => `${roomOf(from)} ${roomOf(to)}`))
  const next = (room: string) => rooms.filter((each) => each !== room && links.has(`${room} ${each}`))
  const all = (room: string): ReadonlyArray<string> => next(room).flatMap((each) => [each, ...all(each)])
  const floorOf = (room: string): number => Math.max(-1, ...next(room).map(floorOf)) + 1
  return rooms.map((room) => {
    const follow = next(room).flatMap(all)
    const arrows = next(room).filter((each) => !follow.includes(each))
    return `${String(floorOf(room))} ${room}: ${arrows.sort().join(', ')}`
  })
}

/** Each answers one line for each place where a page says something else than the code. */
const pageRules = {
  'floors and arrows': (page: string) => {
    let floor = ''
    const lines = [...page.matchAll(/^(\d| ) {2}([a-z/]+) *(?:─▶ (.+))?$/gm)]
    const drawn = lines.map(([, at = '', room = '', to = '']) => {
      if (at !== ' ') floor = at
      return `${floor} ${room}: ${to}`
    })
    const real = picture()
    return [...drawn, ...real].filter((line) => drawn.includes(line) !== real.includes(line))
  },
  rooms: (page: string) => rooms.filter((room) => !page.includes(`\n- **${room}**: `)),
  files: (page: string) =>
    [...page.matchAll(/(?<![\w./<>*-])\w[\w./-]*\.(?:ts|js|json|md)\b/g)]
      .filter(([path]) => !['src/', 'docs/', ''].some((folder) => tracked.includes(folder + path)))
      .map(([path]) => path),
  'steps of the ways': (page: string) => {
    const running = importsOf(src).filter(({ kind }) => kind !== 'type')
    const imports = (from: string, to: string) => running.some((each) => each.from === from && each.to === to)
    /** The files that a line is set in below, each with the place where it begins. */
    let callers: ReadonlyArray<readonly [at: number, file: string]> = []
    let seen: ReadonlyArray<string> = []
    const [, ways = ''] = /^```text\n(inside the relay:\n[^]*?)^```/m.exec(page) ?? []
    return ways.split('\n').filter((line) => {
      const [, before = '', mark = '', file = ''] = /^( *)(?:([→←⇢]) )?([\w/]+\.ts)(?: |$)/.exec(line) ?? []
      if (file === '') seen = []
      if (file === '') return !/^(\w.*:)?$/.test(line)
      const [, caller = ''] = callers.findLast(([at]) => at < before.length) ?? callers[0] ?? []
      callers = [...callers.filter(([at]) => at < before.length), [before.length, file]]
      const begins = before === '' && (seen.length === 0 || seen.includes(file))
      seen = [...seen, file]
      const [down, up] = [imports(caller, file), imports(file, caller)]
      return !({ '→': down, '←': up, '⇢': !down && !up }[mark] ?? begins)
    })
  },
}

/** Texts of docs/architecture.md, and what each is bent to, which a rule must find. */
const bends: ReadonlyArray<readonly [rule: keyof typeof pageRules, from: string, to: string]> = [
  ['floors and arrows', '6  collector     ─▶ destination\n', ''],
  ['floors and arrows', 'operators     ─▶ outbox, signing', 'operators     ─▶ outbox'],
  ['rooms', '- **policy**', '- **policies**'],
  ['files', 'outbox/leases.ts', 'outbox/lease.ts'],
  ['steps of the ways', '→ outbox/decide.ts', '← outbox/decide.ts'],
  ['steps of the ways', '⇢ outbox/take.ts', '→ outbox/take.ts'],
  ['steps of the ways', '→ event/event.ts', '⇢ event/event.ts'],
  ['steps of the ways', '\nclient/createClient.ts   ', '\nclient/client.ts   '],
]

describe('the shape of the repository', () => {
  test.each(Object.entries(rules))('src: %s', (_, rule) => {
    expect(importsOf(src).length).toBeGreaterThan(300)
    expect(rule(src)).toEqual([])
  })

  test('a top-level name means one thing', () => {
    expect(sharedNames({ a: 'const a = 1\ntype b = 1\nconst b = 1', c: 'type a = 1' })).toEqual(['a'])
    expect(sharedNames(src).length).toBeLessThanOrEqual(budget.names)
  })

  test('plain words in src, test, docs and README', () =>
    expect(rules['plain words'](read(/^(src|test|docs)\/.*\.(ts|js|md)$|^README\.md$/))).toEqual([]))

  test('nothing is silenced or left for later', () => {
    const { 'test/architecture.test.ts': _, ...files } = read(/^(src|test)\/.*\.(ts|js)$/)
    expect(rules['nothing is silenced or left for later'](files)).toEqual([])
  })

  test('no file names a path of a machine or a place to download from', () => {
    expect(rules['nothing of one machine'](read(/\.(ts|js|json|md)$|^\.ci\//))).toEqual([])
  })

  test('docs/cases.md names tests and laws that exist', () => {
    const { 'docs/cases.md': page = '', 'docs/laws.md': laws = '' } = read(/^docs\/(cases|laws)\.md$/)
    const named = [...page.matchAll(/`(?:test\/)?([\w/]+\.\w+\.ts)`(?:: ([^|;\n]+))?/g)]
    expect(named.length).toBeGreaterThan(80)
    const files = read(/^test\/.*\.ts$/)
    const missing = named.filter(([, file = '', title = '']) => {
      const text = files[`test/${file}`]
      return text === undefined || !`${text}${laws}`.includes(title.trim())
    })
    expect(missing.map(([all]) => all)).toEqual([])
  })

  test('a test for each file of src is found by its name', () => {
    expect(withoutTest(src, tracked)).toEqual([])
    expect(withoutTest({ 'sink/other.ts': '' }, tracked)).toEqual(['sink/other.ts'])
    const stale = unnamed.filter(([exempt]) => !Object.keys(src).some((path) => exempt.test(path)))
    expect(stale).toEqual([])
  })

  describe('pages for contributors', () => {
    const pages = read(/^docs\/(architecture|contributing)\.md$/)
    const { 'docs/architecture.md': page = '', 'docs/contributing.md': other = '' } = pages

    test.each(Object.entries(pageRules))('the %s of docs/architecture.md are those of the code', (_, rule) =>
      expect(rule(page)).toEqual([]),
    )
    test('the files of docs/contributing.md exist', () => {
      expect(other.match(/`src\/\w+\/\w+\.ts`/g)?.length).toBeGreaterThan(10)
      expect(pageRules.files(other)).toEqual([])
    })
    test.each(bends)('%s: %j in place of %j is found', (rule, from, to) => {
      expect(page).toContain(from)
      expect(pageRules[rule](page.replace(from, to))).not.toEqual([])
    })
  })

  test('the top level holds what belongs there', () => {
    const allowed = /^(package(-lock)?\.json|tsconfig\.json|build\.js|src|test|docs|README\.md|LICENSE)$/
    const top = tracked.map((path) => path.split('/')[0] ?? '').filter((name) => !name.startsWith('.'))
    expect(top.filter((name) => !allowed.test(name))).toEqual([])
  })

  test('the budgets hold', () => {
    expect(Object.keys(src).length).toBeLessThanOrEqual(budget.files)
    expect(lineCount(src)).toBeLessThanOrEqual(budget.lines)
    expect(lineCount(src, codeLines)).toBeLessThanOrEqual(budget.code)
    expect(lineCount(read(/^test\//))).toBeLessThanOrEqual(budget.test)
    expect(lineCount(read(/^README\.md$/))).toBeLessThanOrEqual(200)
  })
})

test.each(Object.entries(rules))('a violation is reported: %s', (name, rule) => {
  // The keys of both records are the same by type.
  expect(rule(broken[name as keyof typeof rules])).not.toEqual([])
})
