// The code of the package: one file for each entry of package.json, and chunks of what they share. All entries of a process
// share the chunks, so each class, symbol and WeakMap exists once. tsc makes the types, a file for each module.
import { chmodSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { build } from 'esbuild'

const { bin, exports } = JSON.parse(readFileSync('package.json', 'utf8'))
const targets = [...Object.values(exports), ...Object.values(bin)].map((target) => target.default ?? target)
const entries = targets.flatMap((path) => /^(?:\.\/)?dist\/(.*)\.js$/.exec(path)?.[1] ?? [])

/**
 * All entries import these. A chunk is the modules that the same entries need, and each chunk costs a process 0.7 ms: so
 * a destination loads 37 files instead of 50. Entries that load no RxJS import less, receivers and the command nothing.
 */
const LIGHT = ['signing/index.ts', 'log/index.ts']
const KERNEL = [...LIGHT, 'sink/memory.ts', 'outbox/index.ts']
const partsOf = (file) => (/(log|policy).index\.ts$/.test(file) ? LIGHT : KERNEL)
const IS_ALONE = /signing.index\.ts$|cli.main\.ts$/

const kernel = {
  name: 'kernel',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^\./ }, ({ path, resolveDir, kind }) => {
      const file = resolve(resolveDir, path)
      const isEntry = /^(entry-point|dynamic-import)$/.test(kind) && !IS_ALONE.test(file)
      return { path: file, namespace: isEntry ? 'entry' : 'file', sideEffects: true }
    })
    onLoad({ filter: /./, namespace: 'entry' }, ({ path }) => ({
      contents: [
        ...partsOf(path).map((file) => `import './${file}'`),
        `export * from ${JSON.stringify(path)}`,
      ].join('\n'),
      resolveDir: resolve('src'),
    }))
  },
}

const { outputFiles } = await build({
  entryPoints: Object.fromEntries(entries.map((name) => [name, `./src/${name}.ts`])),
  outdir: 'dist',
  chunkNames: 'chunks/[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
  // A module that a plugin resolves has no tsconfig. Assigned fields are quicker than defined ones.
  tsconfigRaw: { compilerOptions: { useDefineForClassFields: false } },
  plugins: [kernel],
  write: false,
})
for (const { path, text } of outputFiles) {
  mkdirSync(dirname(path), { recursive: true })
  // No module has side effects, and bundlers of users warn of an import for nothing else.
  writeFileSync(path, text.replace(/^import "[^"]+";\n/gm, ''))
}
/**
 * A declaration that a user's compiler infers may need a type of another entry: it finds the entries that the program
 * has. Receivers load no more than their own.
 */
const NAMED = ['index', 'event/index', 'log/index', 'outbox/index'].map((name) =>
  resolve('dist', `${name}.d.ts`),
)
for (const { types } of Object.values(exports)) {
  if (types === undefined || types.includes('/signing/')) continue
  const others = NAMED.filter((file) => file !== resolve(types))
  const lines = others.map((file) => `/// <reference path="${relative(dirname(types), file)}" />\n`)
  writeFileSync(types, lines.join('') + readFileSync(types, 'utf8'))
}
/** The types that an entry leads to. tsc writes those of the other modules too. */
const reached = new Set()
const reach = (file) => {
  if (reached.has(file)) return
  reached.add(file)
  for (const [, path] of readFileSync(file, 'utf8').matchAll(/["'](\.[^"']+?)(?:\.d)?\.ts["']/g))
    reach(resolve(dirname(file), `${path}.d.ts`))
}
for (const { types } of Object.values(exports)) if (types !== undefined) reach(resolve(types))
for (const name of readdirSync('dist', { recursive: true })) {
  const file = resolve('dist', name)
  if (file.endsWith('.d.ts') && !reached.has(file)) rmSync(file)
}
for (const path of Object.values(bin)) chmodSync(path, 0o755)
