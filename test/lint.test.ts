import { fileURLToPath } from 'node:url'
import { ESLint } from 'eslint'
import { describe, expect, test } from 'vitest'

// With CI set, typescript-eslint reads every file once and from the disk, and would not see the texts that are planted here.
process.env['TSESTREE_SINGLE_RUN'] = 'false'

const root = fileURLToPath(new URL('..', import.meta.url))
const eslint = new ESLint({ cwd: root, overrideConfigFile: `${root}test/lint.config.js` })

/** The rules that a text breaks when it stands in the place of an existing file. */
const broken = async (filePath: string, text: string): Promise<ReadonlyArray<string>> => {
  const results = await eslint.lintText(text, { filePath: `${root}${filePath}` })
  return results.flatMap(({ messages }) => messages.map(({ ruleId, message }) => ruleId ?? message))
}

const inSrc = 'src/outcome/Receipt.ts'

const planted: ReadonlyArray<readonly [because: string, rule: string, text: string]> = [
  ['any', '@typescript-eslint/no-explicit-any', 'export const a = (x: any): void => { void x }'],
  [
    'a missing type at the border',
    '@typescript-eslint/explicit-module-boundary-types',
    'export const a = () => 1',
  ],
  [
    'an assertion that it is not null',
    '@typescript-eslint/no-non-null-assertion',
    'export const a = (x: string | null): number => x!.length',
  ],
  [
    'a type imported as a value',
    '@typescript-eslint/consistent-type-imports',
    "import { Failure } from './Failure.ts'\nexport type A = Failure",
  ],
  [
    'a promise that nobody waits for',
    '@typescript-eslint/no-floating-promises',
    'export const a = (x: Promise<void>): void => { x }',
  ],
  [
    'a switch that forgets a member',
    '@typescript-eslint/switch-exhaustiveness-check',
    "export const a = (x: 'a' | 'b'): void => { switch (x) { case 'a': break } }",
  ],
  ['a file that is too long', 'max-lines', 'export {}\n'.repeat(251)],
  ['fp-ts by its short path', 'no-restricted-imports', "export { left } from 'fp-ts/Either'"],
  ['inner rxjs', 'no-restricted-imports', "export { map } from 'rxjs/operators'"],
  ['an index', 'no-restricted-imports', "export { sign } from '../signing/index.ts'"],
  ['an rxjs operator with a timer of its own', 'no-restricted-imports', "export { timer } from 'rxjs'"],
  ['the timers of node', 'no-restricted-imports', "export { setTimeout } from 'node:timers/promises'"],
  ['setTimeout', 'no-restricted-globals', 'export const a = (): void => { setTimeout(() => undefined, 1) }'],
  ['performance', 'no-restricted-globals', 'export const a = (): number => performance.now()'],
  ['Date.now', 'no-restricted-properties', 'export const a = (): number => Date.now()'],
  ['Math.random', 'no-restricted-properties', 'export const a = (): number => Math.random()'],
  ['new Date()', 'no-restricted-syntax', 'export const a = (): Date => new Date()'],
  [
    'a subscription within a subscription',
    'rxjs-x/no-nested-subscribe',
    "import { of } from 'rxjs'\nof(1).subscribe({ next: () => of(2).subscribe({ error: String }), error: String })",
  ],
  ['work left over', 'no-warning-comments', ['// TO', 'DO: later\nexport {}'].join('')],
]

describe('lint reports', () => {
  test.each(planted)('%s', async (_, rule, text) => {
    expect(await broken(inSrc, text)).toContain(rule)
  })

  test('what a comment tries to silence', async () => {
    const text = ['// eslint-', 'disable-next-line\nexport const a = (): number => Date.now()'].join('')
    expect(await broken(inSrc, text)).toContain('no-restricted-properties')
  })
})

describe('lint lets pass', () => {
  test('the clock reading the time, and a date parsed anywhere', async () => {
    expect(await broken('src/clock/Random.ts', 'export const a = (): number => Date.now()\n')).toEqual([])
    expect(await broken(inSrc, 'export const a = (x: string): Date => new Date(x)\n')).toEqual([])
  })

  test('marbles in a test', async () => {
    const text = "export { TestScheduler } from 'rxjs/testing'\n"
    expect(await broken('test/architecture.test.ts', text)).toEqual([])
  })
})
