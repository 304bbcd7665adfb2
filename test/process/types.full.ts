/** The types, as the compilers of users see them: all that they read is checked, declarations of other packages too. */
import { execFile } from 'node:child_process'
import { copyFileSync, cpSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newFolder, projectFolder } from '../support/folder.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const examples = readdirSync(`${root}docs/examples`).filter((file) => file.endsWith('.ts'))
let scratch = ''

beforeAll(() => {
  scratch = projectFolder()
  copyFileSync(`${root}test/fixtures/types/everyEntry.ts`, `${scratch}/everyEntry.ts`)
  for (const file of examples) copyFileSync(`${root}docs/examples/${file}`, `${scratch}/${file}`)
})

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

interface Compiler {
  readonly typescript: string
  readonly module: 'nodenext' | 'bundler'
  readonly exactOptionalPropertyTypes: boolean
}

const compile = (compiler: Compiler, files: ReadonlyArray<string>, skipLibCheck = false, home = scratch) => {
  const { typescript, module, exactOptionalPropertyTypes } = compiler
  const compilerOptions = {
    strict: true,
    skipLibCheck,
    exactOptionalPropertyTypes,
    ...(module === 'nodenext' ? { module } : { module: 'esnext', moduleResolution: module }),
    target: 'es2022',
    lib: ['es2023', 'esnext.disposable'],
    types: ['node'],
    resolveJsonModule: true,
    declaration: true,
    noEmit: true,
  }
  const config = `${home}/${typescript}-${module}-${String(exactOptionalPropertyTypes)}.json`
  writeFileSync(config, JSON.stringify({ compilerOptions, files }))
  const args = [`${root}node_modules/${typescript}/bin/tsc`, '--pretty', 'false', '-p', config]
  return new Promise<string>((resolve) =>
    execFile(process.execPath, args, { cwd: home, maxBuffer: 1e8 }, (error, output) =>
      resolve(error === null ? output : output || error.message),
    ),
  )
}

const versions = ['typescript-5.6', 'typescript-5.9', 'typescript']
const exact = { module: 'nodenext', exactOptionalPropertyTypes: true } as const
const compilers = versions.flatMap((typescript) =>
  (['nodenext', 'bundler'] as const).flatMap((module) =>
    [false, true].map((exactOptionalPropertyTypes): Compiler => {
      return { typescript, module, exactOptionalPropertyTypes }
    }),
  ),
)

describe('the types hold', () => {
  test('for a program that uses every entry', () => {
    const { exports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { exports: object }
    const program = readFileSync(`${scratch}/everyEntry.ts`, 'utf8')
    for (const entry of Object.keys(exports)) expect(program).toContain(`from 'headrace${entry.slice(1)}'`)
  })

  test.each(compilers)(
    'in $typescript, $module, exactOptionalPropertyTypes $exactOptionalPropertyTypes',
    async (compiler) => expect(await compile(compiler, ['everyEntry.ts', ...examples])).toBe(''),
  )

  test('which is seen if they do not', async () => {
    const wrong = "import { deliver } from 'headrace'\nexport const text: string = deliver\n"
    writeFileSync(`${scratch}/wrong.ts`, wrong)
    const fault = /^wrong\.ts\(2,14\): error TS2322/
    for (const typescript of versions)
      expect(await compile({ typescript, ...exact }, ['wrong.ts'], true)).toMatch(fault)
  })
})

/** Programs of one entry, or of the entries of a pipeline. The compiler infers the types of what they export. */
const EXPORTING: Readonly<Record<string, string>> = {
  client: `import { createClient, type Client } from 'headrace/client'
    export const client = createClient<{ Sold: { plan: string } }>('k')
    export const { outcomes$, refusals$, events$, dead, stats, flush, persisted, send, close } = client
    export class Host { readonly client = createClient('k') }
    export const sold = (any: ReturnType<typeof createClient>) => any.track({ userId: 'u', event: 'Sold' })
    export const one: Client<{ Sold: { plan: string } }> = createClient('k') // The variance of TypeScript 5.`,
  destination: `import { webhookDestination } from 'headrace/destination'
    export const destination = webhookDestination({ webhooks: [{ url: 'https://a.example' }] })
    export const { outcomes$, refusals$, attempts$, events$, dead, stats, send, update, close } = destination`,
  collector: `import { audienceSync, computedTrait, createCollector } from 'headrace/collector'
    export const collector = createCollector({ sources: [], destinations: [] })
    export const { outcomes$, stats, handle, listener, close } = collector
    export const dead = () => collector.dead('a')
    export const toCalls = [audienceSync({ name: 'a' }), computedTrait<number>({ name: 'b' })]`,
  lmdb: `import { lmdbOutbox } from 'headrace/outbox/lmdb'
    export const open = (...given: Parameters<typeof lmdbOutbox>) => ({ ...lmdbOutbox(...given) })`,
  pipeline: `import { batch, deliver, encode, sign, validate, withTimeout } from 'headrace'
    import { Event, eventCodec, toWebhookBody } from 'headrace/events'
    import { webhook } from 'headrace/sinks/webhook'
    import { of } from 'rxjs'
    export const hook = withTimeout({ timeout: 1_000 })(webhook('https://a.example'))
    export const operators = [validate(Event), encode(toWebhookBody), batch(), sign('s'), deliver(hook)] as const
    export const codec = eventCodec()
    export const encoded$ = of({}).pipe(validate(codec), encode(toWebhookBody))
    export const ended$ = encoded$.pipe(batch(), sign('s'), deliver(hook))`,
}

test.each(Object.keys(EXPORTING))('a library may export what it makes of headrace: %s', async (name) => {
  // Installed as a copy: a compiler names any file of a package that it compiles or that is linked.
  const folder = newFolder()
  for (const each of ['package.json', 'dist'])
    cpSync(`${root}${each}`, `${folder}/node_modules/headrace/${each}`, { recursive: true })
  for (const each of readdirSync(`${root}node_modules`).filter((each) => !each.startsWith('.')))
    symlinkSync(`${root}node_modules/${each}`, `${folder}/node_modules/${each}`)
  writeFileSync(`${folder}/package.json`, '{ "type": "module" }')
  writeFileSync(`${folder}/${name}.ts`, EXPORTING[name] ?? '')
  for (const typescript of versions)
    expect(await compile({ typescript, ...exact }, [`${name}.ts`], true, folder)).toBe('')
})

/** A pipeline that lacks an operator, and what the last line of its error names. */
const FORGOTTEN: ReadonlyArray<readonly [operators: string, named: string]> = [
  ['encode((order: { id: string }) => order)', 'ValidatedOrLifted<Refusal, { id: string; }>'],
  ['mapRight((order: { id: string }) => order.id)', 'ValidatedOrLifted<unknown, { id: string; }>'],
  ['deliver(memory())', 'ValidatedOrLifted<unknown, unknown>'],
  ['batch()', 'ValidatedOrLifted<unknown, '],
  ['validate(Order), batch()', 'Hint<"put encode() before batch">'],
  ["validate(Order), sign('s')", 'Hint<"put encode() before sign">'],
  ['validate(Order), deliver(hook)', 'Hint<"put encode() before deliver">'],
  [
    'validate(Order), deliver(hook, { outbox: memoryOutbox<Payload<unknown>>({}) })',
    'Hint<"put encode() before deliver">',
  ],
  [
    'validate(Order), encode((order) => order), deliver(memory<BatchPayload<unknown>>())',
    'Hint<"put encode() and batch() before deliver">',
  ],
  ['validate(Order), deliver(memory<ReadonlyArray<object>>())', 'Hint<"give deliver the option batch">'],
]

test('a forgotten operator is named in the error of the compiler', async () => {
  const program = [
    "import { batch, deliver, encode, mapRight, sign, validate } from 'headrace'",
    "import { memoryOutbox } from 'headrace/outbox'",
    "import { memory } from 'headrace/sinks/memory'",
    "import type { BatchPayload, Payload } from 'headrace'",
    "import { webhook } from 'headrace/sinks/webhook'",
    "import * as t from 'io-ts'",
    "import { from } from 'rxjs'",
    'export const Order = t.type({ id: t.string })',
    "export const hook = webhook('https://receiver.example')",
    "const orders$ = from([{ id: 'a' }])",
    ...FORGOTTEN.map(([operators], at) => `export const e${String(at)} = orders$.pipe(${operators})`),
  ]
  writeFileSync(`${scratch}/forgotten.ts`, program.join('\n'))
  const output = await compile({ typescript: 'typescript', ...exact }, ['forgotten.ts'], true)
  const errors = output.split(/^forgotten\.ts.*error TS/m).slice(1)
  const found = errors.map((error) =>
    [...error.matchAll(/^ +Type '.*' is not assignable to type '((?!Right|Operator).*)'\.$/gm)]
      .map(([, wanted = '']) => wanted)
      .filter((wanted) => /ValidatedOrLifted|Hint/.test(wanted))
      .at(-1),
  )
  expect(found).toHaveLength(FORGOTTEN.length)
  expect(FORGOTTEN.filter(([, named], at) => found[at]?.includes(named) !== true)).toEqual([])
})
