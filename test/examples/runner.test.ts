import { describe, expect, test } from 'vitest'
import { checkExamples } from './check.ts'
import { docExamplesOf, fencesOf } from './collect.ts'
import type { Fence } from './collect.ts'
import { checkCommands, commandsOf } from './commands.ts'
import { SHOW, instrument, matches } from './expectations.ts'

const example = (text: string, ...flags: ReadonlyArray<string>): Fence => ({
  file: 'planted.md',
  line: 10,
  language: 'ts',
  flags,
  text,
})

const planted: ReadonlyArray<readonly [because: string, fence: Fence, fault: RegExp | undefined]> = [
  ['it prints what it shows', example("console.log('a', 1) // => a 1"), undefined],
  ['a value is shown, not printed', example('const a = 1 + 1 // => 2\na * 2 // => 4'), undefined],
  ['a text may stand with quotes or without', example("'a' // => 'a'\n'a' // => a"), undefined],
  [
    'a value goes on until its brackets are closed',
    example('console.log({ a: [1, 2] })\n// => {\n// a: [ 1, 2 ]\n// }\n// a remark'),
    undefined,
  ],
  [
    'a value goes on over several set-in lines',
    example("console.log({ a: [1, 2], b: 'x' })\n// => { a: [ 1, 2 ],\n//      b: 'x' }"),
    undefined,
  ],
  ['what is not known beforehand is left open', example('Math.random() // => 0.…'), undefined],
  ['it prints later', example("setTimeout(() => console.log('late'), 1)\n// => late"), undefined],
  [
    'a statement that prints by itself does not show its value',
    example("const f = async () => console.log('a')\nawait f() // => a\nconst b = await f() // => a"),
    undefined,
  ],
  ['without expectations it may print', example("console.log('anything')"), undefined],
  [
    'it subscribes to rxjs',
    example("import { of } from 'rxjs'\nof(1, 2).subscribe((x) => console.log(x)) // => 1\n// => 2"),
    undefined,
  ],
  ['it is only type-checked', example("throw new Error('runs')", 'no-run'), undefined],
  ['it shows a wrong value', example('1 + 1 // => 3'), /shows '3', but printed '2'/],
  [
    'it shows the right values in the wrong order',
    example('1 // => 2\n2 // => 1'),
    /shows '2', but printed '1'/,
  ],
  [
    'it shows more than is printed',
    example('// => 1\n// => 2\nconsole.log(1)'),
    /shows '2', but nothing more/,
  ],
  ['it prints more than it shows', example('console.log(1) // => 1\nconsole.log(2)'), /does not show '2'/],
  ['it throws', example("throw new Error('no')"), /Error: no/],
  ['it throws later', example("setTimeout(() => { throw new Error('no') }, 1)"), /Error: no/],
  ['it rejects', example("void Promise.reject(new Error('no'))"), /Error: no/],
  ['it exits', example('process.exit(3)'), /ended with 3/],
  [
    'it exits well before its end',
    example('process.exit(0)\nconsole.log(1)\n// => 1'),
    /nothing more was printed/,
  ],
  ['it waits for nothing', example('await new Promise(() => undefined)'), /never come/],
  ['it does not end', example('setInterval(() => undefined, 1_000)'), /has not ended/],
  ['it does not compile', example('export {}\nconst a: string = 1'), /planted\.md:11 .*not assignable/],
  ['it does not compile and is not run', example('const a: string = 1', 'no-run'), /planted\.md:10/],
  ['it reaches into the package', example("import 'headrace/internal/Heap'"), /Cannot find module/],
]

describe('an example', () => {
  // All in one go, as the docs are: a bad one must not harm its neighbours.
  const verdicts = checkExamples(
    planted.map(([, fence]) => fence),
    { limit: 3_000, children: 2 },
  )

  test.each(planted.map(([because, , fault], at) => [because, fault, at] as const))(
    '%s',
    async (_, fault, at) => {
      const found = (await verdicts)[at]
      if (fault === undefined) expect(found).toEqual([])
      else expect(found?.join('\n')).toMatch(fault)
    },
  )
})

describe('finding examples', () => {
  test('fences of a page, with language, flags, line and indentation', () => {
    const page = [
      '# A',
      '```ts no-run',
      'a',
      '```',
      '',
      '- b',
      '  ```sh',
      '  $ c',
      '  ```',
      '````md',
      '```ts',
      '```',
      '````',
    ]
    expect(fencesOf('a.md', page.join('\n'))).toEqual([
      { file: 'a.md', line: 3, language: 'ts', flags: ['no-run'], text: 'a\n' },
      { file: 'a.md', line: 8, language: 'sh', flags: [], text: '$ c\n' },
      { file: 'a.md', line: 11, language: 'md', flags: [], text: '```ts\n```\n' },
    ])
  })

  test('examples of doc blocks: fenced or bare, up to the next tag', () => {
    const source = [
      '/**',
      ' * Adds.',
      ' *',
      ' * @example',
      ' * ```ts',
      ' * add(1, 2) // => 3',
      ' * ```',
      ' * @since 1',
      ' */',
      'export const add = 1',
      'export interface B {',
      '  /**',
      '   * @example',
      '   * bare()',
      '   */',
      '  readonly b: string',
      '}',
      '// @example',
      '// no doc block',
    ]
    const found = docExamplesOf('a.ts', source.join('\n'))
    expect(found.map(({ line, text }) => [line, text.trim()])).toEqual([
      [6, 'add(1, 2) // => 3'],
      [14, 'bare()'],
    ])
  })
})

describe('expectations', () => {
  test('what prints itself is left alone; lines stay where they were', () => {
    const source =
      "console.log(1) // => 1\nof(1).subscribe(console.log) // => 1\nconst a =\n  f() // => 'x'\nb()"
    const { code, expected } = instrument(source)
    expect(expected).toEqual(['1', '1', "'x'"])
    expect(code.split('\n')).toHaveLength(source.split('\n').length)
    expect(code.match(new RegExp(SHOW, 'g'))).toHaveLength(1)
    expect(code).toContain(`${SHOW}(a)`)
  })

  test('comments in callbacks and before closing brackets count, texts that look like comments do not', () => {
    const source = "f(() => {\n  console.log(1) // => 1\n  // => 2\n})\nconsole.log('// => 3')"
    expect(instrument(source).expected).toEqual(['1', '2'])
  })

  test.each([
    ['a  b', 'a b\n', true],
    ['a … d', 'a b c d', true],
    ['…', '', true],
    ['a.c', 'abc', false],
    ['a', 'a b', false],
    ['a…', 'b a', false],
  ])('%j against %j: %j', (shown, text, same) => {
    expect(matches(shown, text)).toBe(same)
  })
})

describe('a console fence', () => {
  test('only our commands are run; output belongs to the command above it', () => {
    const text = [
      '$ npm install headrace',
      'added',
      '$ export WEBHOOK_SECRET=x',
      '$ headrace send a.ndjson \\',
      '    --to http://localhost  # a remark',
      'one',
      'two',
      '$ echo 1 | npx headrace verify',
    ]
    expect(commandsOf(text.join('\n'))).toEqual([
      { line: 'export WEBHOOK_SECRET=x', shown: '' },
      { line: 'headrace send a.ndjson --to http://localhost', shown: 'one\ntwo' },
      { line: 'echo 1 | npx headrace verify', shown: '' },
    ])
  })

  test('a command that fails or prints something else is reported', async () => {
    // `true` and `false` stand for a command of ours, so that this does not depend on what ours do.
    const run = (text: string): Promise<ReadonlyArray<string>> => checkCommands(text, 10_000)
    expect(await run('$ true || headrace x')).toEqual([])
    expect(await run('$ false && headrace x')).toHaveLength(1)
    expect(await run('$ echo a b | cat || headrace x\na …')).toEqual([])
    expect(await run('$ echo a b | cat || headrace x\nb')).toHaveLength(1)
    expect(await run('$ export A=1\n$ test "$A" = 1 || headrace x')).toEqual([])
  })

  test('a command that does not end is stopped and reported', async () => {
    expect(await checkCommands('$ sleep 30 || headrace x', 200)).toHaveLength(1)
  })
})
