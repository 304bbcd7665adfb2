// The code of the package: one file for each entry of package.json, and chunks for what they share. In one process all
// entries share their chunks, so each class, symbol and WeakMap exists once. The types are made by tsc, a file for each module.
import { chmodSync, readFileSync } from 'node:fs'
import { build } from 'esbuild'

const { bin, exports } = JSON.parse(readFileSync('package.json', 'utf8'))
const code = [...Object.values(exports), ...Object.values(bin)].map((target) => target.default ?? target)
const entries = code.filter((path) => path.startsWith('./dist/') || path.startsWith('dist/'))

await build({
  entryPoints: entries.map((path) => path.replace(/^(\.\/)?dist(.*)\.js$/, 'src$2.ts')),
  outdir: 'dist',
  outbase: 'src',
  chunkNames: 'chunks/[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
})
for (const path of Object.values(bin)) chmodSync(path, 0o755)
