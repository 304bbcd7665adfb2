// The lint of the whole repository, with types. The top level holds no configuration, so it stands here and is passed by hand:
// `eslint -c test/lint.config.js .`, which is what `npm run lint` does. Under its usual name eslint would find it for the
// files in test/ and take its patterns as relative to that folder.
import rxjs from 'eslint-plugin-rxjs-x'
import { defineConfig } from 'eslint/config'
import ts from 'typescript-eslint'

const OWN_CLOCK =
  'All time and chance come through Clock and Random (src/core/clock.ts), so that a test can own them.'

const ambient = ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'performance']

const ambientProperties = [
  ...ambient.map((property) => ({ object: 'globalThis', property, message: OWN_CLOCK })),
  { object: 'Date', property: 'now', message: OWN_CLOCK },
  { object: 'Math', property: 'random', message: OWN_CLOCK },
  { object: 'AbortSignal', property: 'timeout', message: OWN_CLOCK },
  { object: 'process', property: 'hrtime', message: OWN_CLOCK },
]

const ambientSyntax = [
  { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: OWN_CLOCK },
  { selector: "CallExpression[callee.name='Date']", message: OWN_CLOCK },
]

// Such an end is looked for anew at each character of a run: 11 s for a host of 100,000 dots.
const quadraticSyntax = [
  {
    selector: 'Literal[regex.pattern=/^[^^].*[+*}][?]?[$]([)|]|$)/]',
    message: 'A quantifier before $ without ^ takes the square of the length: anchor it, or use a loop.',
  },
]

// Each of these reads the machine's clock or arms a timer of the machine unless it is given a scheduler.
const timedOperators = [
  'animationFrames animationFrameScheduler asapScheduler asyncScheduler auditTime bufferTime debounceTime delay interval',
  'sampleTime throttleTime timeInterval timeout timeoutWith timer timestamp windowTime',
].flatMap((names) => names.split(' '))

const byFile = [
  { regex: '^rxjs/', message: "Import from 'rxjs': the inner paths are another copy or private." },
  {
    regex: '^fp-ts(?!/lib/\\w+\\.js$)',
    message: "Import by file, 'fp-ts/lib/Either.js': the short paths do not load in Node's ESM.",
  },
  { regex: '^io-ts/', message: "Import * as t from 'io-ts': its inner paths do not load in Node's ESM." },
]

const barrels = [
  { regex: '^headrace', message: 'Inside the package, import the file itself.' },
  {
    regex: '(^|/)index\\.(ts|js)$|^\\.{1,2}/?$',
    message: 'An index is for users; inside, import the file itself.',
  },
]

const timers = [
  { regex: '^(node:)?(timers|perf_hooks)(/|$)', message: OWN_CLOCK },
  { group: ['rxjs'], importNames: timedOperators, message: OWN_CLOCK },
]

const shown = { allowNumber: true, allowBoolean: true }
export default defineConfig(
  { ignores: ['dist/', 'coverage/', 'docs/', '**/*.py'] },
  { linterOptions: { noInlineConfig: true } },
  {
    files: ['src/**/*.ts', 'test/**/*.ts'],
    extends: [ts.configs.strictTypeChecked, ts.configs.stylisticTypeChecked, rxjs.configs.strict],
    languageOptions: { parserOptions: { project: 'tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/array-type': ['error', { default: 'array-simple', readonly: 'generic' }],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/consistent-type-exports': 'error',
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/prefer-readonly': 'error',
      '@typescript-eslint/require-array-sort-compare': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true, requireDefaultForNonUnion: true },
      ],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // `void` stands for "nothing" in Either<Failure, void> and Task<void>, which is how fp-ts writes it.
      '@typescript-eslint/no-invalid-void-type': ['error', { allowInGenericTypeArguments: true }],
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      // Its advice is the `!` that another rule forbids.
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      eqeqeq: 'error',
      'no-console': 'error',
      'no-param-reassign': 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'object-shorthand': 'error',
      'no-warning-comments': ['error', { terms: ['todo', 'fixme', 'xxx'], location: 'anywhere' }],
      'no-restricted-imports': ['error', { patterns: byFile }],
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: {
      'max-lines': ['error', { max: 400 }],
      'no-restricted-globals': ['error', ...ambient.map((name) => ({ name, message: OWN_CLOCK }))],
      'no-restricted-properties': ['error', ...ambientProperties],
      'no-restricted-syntax': ['error', ...ambientSyntax, ...quadraticSyntax],
      'no-restricted-imports': ['error', { patterns: [...byFile, ...barrels, ...timers] }],
    },
  },
  {
    files: ['src/core/clock.ts'],
    rules: {
      'no-restricted-globals': 'off',
      'no-restricted-properties': 'off',
      'no-restricted-syntax': 'off',
    },
  },
  {
    // The clock of core loads RxJS, and a receiver must not.
    files: ['src/signing/request.ts'],
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    // Warnings and errors reach a person even when the host gave no logger.
    files: ['src/log/listeners.ts'],
    rules: { 'no-console': ['error', { allow: ['warn', 'error'] }] },
  },
  {
    // The virtual clock lets the event loop turn once, so that the promises of the code under test get their turn.
    files: ['src/testing/virtualClock.ts'],
    rules: { 'no-restricted-imports': ['error', { patterns: [...byFile, ...barrels] }] },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      // Tests play marbles, count what is emitted, and look at what a careless caller would do.
      'no-restricted-imports': ['error', { patterns: byFile.filter((each) => each.regex !== '^rxjs/') }],
      'no-console': 'off',
      '@typescript-eslint/ban-ts-comment': ['error', { 'ts-expect-error': false }],
      '@typescript-eslint/restrict-template-expressions': ['error', shown],
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/unbound-method': 'off',
      // `expect.any(String)` is an any.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-misused-spread': 'off',
      '@typescript-eslint/no-invalid-void-type': 'off',
      'rxjs-x/no-implicit-any-catch': 'off',
      'rxjs-x/no-ignored-error': 'off',
      'rxjs-x/no-nested-subscribe': 'off',
      'rxjs-x/no-floating-observables': 'off',
      'rxjs-x/throw-error': 'off',
      'rxjs-x/no-unsafe-subject-next': 'off',
      'rxjs-x/no-internal': 'error',
    },
  },
)
