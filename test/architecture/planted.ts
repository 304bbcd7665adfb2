/** Sets of files that break the rules of the house, each with what must be reported for it. */
import type { Files } from './graph.ts'
import type { rules } from './rules.ts'
import { ROOT_FLOOR } from './tables.ts'

/** What a planted set of files must be reported for, and nothing else. */
export interface Planted {
  readonly rule: keyof typeof rules
  readonly because: string
  readonly files: Files
  readonly reported: ReadonlyArray<string>
}

const lines = (count: number): string => 'export {}\n'.repeat(count)

const manyFiles = (count: number): Files =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`event/E${at}.ts`, '']))

/** At least one for every rule; a test says so. */
export const planted: ReadonlyArray<Planted> = [
  {
    rule: 'everyFolderHasAFloor',
    because: 'a new folder',
    files: { 'attic/A.ts': '', 'event/E.ts': '', 'index.ts': '' },
    reported: ['attic/ stands on no floor'],
  },
  {
    rule: 'importsGoDown',
    because: 'an import upward',
    files: { 'event/E.ts': "import { a } from '../sink/S.ts'", 'sink/S.ts': 'export const a = 1' },
    reported: ['event/E.ts:1 is on floor 2 and imports sink/S.ts on floor 3'],
  },
  {
    rule: 'importsGoDown',
    because: 'a type import upward, also written as import()',
    files: {
      'event/E.ts': "import type { A } from '../sink/S.ts'\nexport type B = import('../sink/S.ts').A",
      'sink/S.ts': '',
    },
    reported: [
      'event/E.ts:1 is on floor 2 and imports sink/S.ts on floor 3',
      'event/E.ts:2 is on floor 2 and imports sink/S.ts on floor 3',
    ],
  },
  {
    rule: 'importsGoDown',
    because: 'a neighbour on the same floor, also lazily',
    files: { 'sinks/a.ts': "\nawait import('../operators/b.ts')", 'operators/b.ts': '' },
    reported: ['sinks/a.ts:2 is on floor 5 and imports operators/b.ts on floor 5'],
  },
  {
    rule: 'importsGoDown',
    because: 'a re-export upward, a file that is not there, and a way out of src',
    files: {
      'outcome/A.ts': "export { e } from '../event/E.ts'",
      'outcome/B.ts': "import '../../test/x.ts'",
      'outcome/C.ts': "import './Gone.ts'",
      'event/E.ts': '',
    },
    reported: [
      'outcome/A.ts:1 is on floor 1 and imports event/E.ts on floor 2',
      "outcome/B.ts:1 leaves src by '../../test/x.ts'",
      "outcome/C.ts:1 imports './Gone.ts', which is no file",
    ],
  },
  {
    rule: 'importsGoDown',
    because: 'an import of the root entry from below',
    files: { 'cli/main.ts': "import '../index.ts'", 'index.ts': '' },
    reported: [`cli/main.ts:1 is on floor 9 and imports index.ts on floor ${ROOT_FLOOR}`],
  },
  {
    rule: 'thirdPartiesInTheirPlace',
    because: 'undici in a sink, and for its types too',
    files: {
      'sinks/webhook.ts': "import { Pool } from 'undici'\nimport type { Dispatcher } from 'undici'",
      'transport/pool.ts': "import { Pool } from 'undici'",
    },
    reported: [
      "sinks/webhook.ts:1 imports 'undici', which belongs to transport/",
      "sinks/webhook.ts:2 imports 'undici', which belongs to transport/",
    ],
  },
  {
    rule: 'thirdPartiesInTheirPlace',
    because: 'an unknown package, a short fp-ts path, and inner rxjs',
    files: {
      'event/E.ts': "import 'left-pad'\nimport 'fp-ts/Either'\nimport 'rxjs/operators'\nimport 'fs'",
    },
    reported: ['left-pad', 'fp-ts/Either', 'rxjs/operators', 'fs'].map(
      (name, at) => `event/E.ts:${at + 1} imports '${name}', which no place is named for`,
    ),
  },
  {
    rule: 'thirdPartiesInTheirPlace',
    because: 'node:http outside the servers; signing may name its types',
    files: {
      'signing/verifyRequest.ts': "import type { IncomingMessage } from 'node:http'",
      'signing/sign.ts': "import { request } from 'node:http'",
      'operators/sign.ts': "import { createHmac } from 'node:crypto'",
      'cli/listen.ts': "import { createServer } from 'node:http'",
    },
    reported: [
      "signing/sign.ts:1 imports 'node:http', which belongs to collector/ testing/ cli/",
      "operators/sign.ts:1 imports 'node:crypto', which belongs to signing/ event/ operators/batch.ts outbox/lmdb/records/StoredBookmark.ts",
    ],
  },
  {
    rule: 'noCircles',
    because: 'a circle of three, closed by a type import',
    files: {
      'event/A.ts': "import './B.ts'",
      'event/B.ts': "import './C.ts'",
      'event/C.ts': "import type { A } from './A.ts'",
      'event/D.ts': "import './A.ts'",
    },
    reported: ['event/A.ts -> event/B.ts -> event/C.ts -> event/A.ts'],
  },
  {
    rule: 'noCircles',
    because: 'a file that imports itself',
    files: { 'event/A.ts': "import './A.ts'" },
    reported: ['event/A.ts -> event/A.ts'],
  },
  {
    rule: 'shortFiles',
    because: '251 lines, where 250 are allowed',
    files: { 'event/A.ts': lines(251), 'event/B.ts': lines(250) },
    reported: ['event/A.ts has 251 lines, the most is 250'],
  },
  {
    rule: 'smallFolders',
    because: 'the sixteenth file',
    files: { ...manyFiles(16), 'sink/S.ts': '' },
    reported: ['event/ has 16 files, the most is 15'],
  },
  {
    rule: 'namesThatSaySomething',
    because: 'banned names, as a folder, a file or a word of one',
    files: { 'event/utils.ts': '', 'core/A.ts': '', 'sink/RetryManager.ts': '', 'event/base64.ts': '' },
    reported: [
      "event/utils.ts is named 'utils'",
      "core/A.ts is named 'core'",
      "sink/RetryManager.ts is named 'manager'",
    ],
  },
  {
    rule: 'namesDifferByMoreThanCase',
    because: 'a module and a function of the same name',
    files: { 'sink/Sink.ts': '', 'sink/sink.ts': '', 'sinks/Sink.ts': '' },
    reported: ['sink/Sink.ts and sink/sink.ts differ only by case'],
  },
  {
    rule: 'camelCaseIsOneFunction',
    because: 'a second function, another name, and no function at all',
    files: {
      'sink/a.ts': 'export const a = 1\nexport function b() {}',
      'sink/c.ts': 'export const d = 1',
      'sink/e.ts': "export type E = 1\nexport { f } from './f.ts'",
      'sink/g.ts':
        "export const MOST = 1\nexport interface G {}\nconst h = 1\nexport const g = h\nexport { a } from './a.ts'",
      'sink/Pascal.ts': 'export const a = 1\nexport const b = 1',
      'sink/index.ts': '',
    },
    reported: [
      'sink/a.ts exports a, b, not the one function a',
      'sink/c.ts exports d, not the one function c',
      'sink/e.ts exports nothing, not the one function e',
    ],
  },
  {
    rule: 'indexesOnlyReExport',
    because: 'code, a star and an import in an index',
    files: {
      'signing/index.ts': "export * from './sign.ts'\nexport const a = 1\nimport './sign.ts'\nexport {}",
      'event/Index.ts': 'export const a = 1',
      'index.ts': "export { a } from './a.ts'\nexport type { B } from './b.ts'\nexport * as C from './C.ts'",
    },
    reported: [1, 2, 3, 4].map((line) => `signing/index.ts:${line} is no explicit re-export`),
  },
  {
    rule: 'noBarrelImports',
    because: 'an index, the package itself, a folder and a .js ending',
    files: {
      'cli/a.ts': "import '../signing/index.ts'",
      'cli/b.ts': "import 'headrace/signing'",
      'cli/c.ts': "import '../signing'",
      'cli/d.ts': "import './a.js'",
    },
    reported: [
      "cli/a.ts:1 imports the index '../signing/index.ts'",
      "cli/b.ts:1 imports its own package, 'headrace/signing'",
      "cli/c.ts:1 imports '../signing', not a file ending in .ts",
      "cli/d.ts:1 imports './a.js', not a file ending in .ts",
    ],
  },
  {
    rule: 'lightEntriesStayLight',
    because: 'undici three files below the root; lazy and type imports load nothing',
    files: {
      'index.ts': "export { a } from './layers/a.ts'\nexport type { L } from './cli/l.ts'",
      'layers/a.ts': "import { b } from '../transport/b.ts'\nexport const lazy = () => import('commander')",
      'transport/b.ts': "import { type Pool } from 'undici'\nimport type { D } from 'fast-check'",
      'cli/l.ts': "import 'commander'",
    },
    reported: ['index.ts -> layers/a.ts -> transport/b.ts -> undici'],
  },
  {
    rule: 'nothingIsSilenced',
    because: 'a lint rule or the compiler switched off, and work left over',
    files: {
      'event/A.ts': ['// eslint-', 'disable-next-line', '\n// @ts-', 'ignore', '\n// TO', 'DO'].join(''),
    },
    reported: ['eslint-', '@ts-', 'TO'].map(
      (start, at) => `event/A.ts:${at + 1} says ${start}${['disable', 'ignore', 'DO'][at] ?? ''}`,
    ),
  },
]
