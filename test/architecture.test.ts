import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { graphOf } from './architecture/graph.ts'
import type { Files } from './architecture/graph.ts'
import { planted } from './architecture/planted.ts'
import { strangersAtTheTop, tracesOfAMachine, trackedFiles } from './architecture/repository.ts'
import { rules } from './architecture/rules.ts'
import { floors } from './architecture/tables.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

const readTree = (folder: string): Files =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => [path.replaceAll('\\', '/'), readFileSync(`${folder}/${path}`, 'utf8')]),
  )

const src = readTree(`${root}src`)
const graph = graphOf(src)

describe('src keeps the rules of the house', () => {
  test('the reader found the tree', () => {
    expect(Object.keys(src).length).toBeGreaterThan(20)
    expect([...graph.imports.values()].flat().length).toBeGreaterThan(20)
  })

  test.each(Object.entries(rules))('%s', (_, rule) => {
    expect(rule(graph)).toEqual([])
  })
})

describe('the repository keeps the rules of the house', () => {
  const tracked = trackedFiles(root)

  test('only what belongs there stands at the top level', () => {
    expect(strangersAtTheTop(tracked)).toEqual([])
  })

  test('a file of the tests is no longer than one of the source', () => {
    // These are still to be taken apart.
    const stillLong = ['laws/keepingRun.ts', 'client/stored/play.ts']
    const tests = Object.entries(tracked).filter(
      ([path]) => /^test\/.*\.ts$/.test(path) && !stillLong.includes(path.slice('test/'.length)),
    )
    expect(tests.length).toBeGreaterThan(200)
    expect(rules.shortFiles({ files: Object.fromEntries(tests), imports: new Map() })).toEqual([])
  })

  test('no tracked file names a path of a machine or a place to download from', () => {
    expect(Object.keys(tracked)).toContain('package-lock.json')
    expect(tracesOfAMachine(tracked)).toEqual([])
  })
})

describe('each rule reports what it is there for', () => {
  test.each(planted)('$rule: $because', ({ rule, files, reported }) => {
    expect(rules[rule](graphOf(files))).toEqual(reported)
  })

  test('no rule is without a planted violation', () => {
    expect(new Set(planted.map(({ rule }) => rule))).toEqual(new Set(Object.keys(rules)))
  })

  test('every pair of folders is judged by its floors', () => {
    const folders = Object.entries(floors)
    for (const [from, here] of folders) {
      for (const [to, there] of folders) {
        const files = { [`${from}/A.ts`]: `import '../${to}/B.ts'`, [`${to}/B.ts`]: '' }
        const allowed = from === to || there < here
        expect(rules.importsGoDown(graphOf(files)), `${from} imports ${to}`).toHaveLength(allowed ? 0 : 1)
      }
    }
  })

  test('a stranger at the top level', () => {
    const files = {
      'vitest.config.ts': '',
      'src/index.ts': '',
      '.ci/run': '',
      'scripts/x.sh': '',
      LICENSE: '',
    }
    expect(strangersAtTheTop(files)).toEqual(['vitest.config.ts', 'scripts'])
  })

  test('traces of a machine', () => {
    const home = ['', 'home', 'ada', 'headrace'].join('/')
    const registry = ['registry', 'example', 'com'].join('.')
    const files = {
      'a.md': `see ${home}/docs`,
      'b.json': ['"res', 'olved": "https://a.example/rxjs.tgz"'].join(''),
      'c.md': `npm --registry=https://${registry}/`,
      'd.md': 'https://a.example/work/x and ./work/ and docs/home/ada/',
    }
    expect(tracesOfAMachine(files).map((line) => line.split(' ')[0])).toEqual([
      'a.md:1',
      'b.json:1',
      'c.md:1',
    ])
  })
})
