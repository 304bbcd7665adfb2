/** What the repository as a whole may hold, checked on the files that git tracks. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Files } from './graph.ts'

/** The top level, beside dotfiles. */
const allowed = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'src',
  'test',
  'docs',
  'README.md',
  'LICENSE',
]

/** A folder in which somebody's machine keeps a checkout. */
const MACHINE_PATH = /(?<![\w.~-])\/(work|root|home\/\w+|Users\/\w+|private\/tmp|tmp\/\w+)\//

/** A place to download packages from: it belongs to the machine that installs, not to the repository. */
const REGISTRY = /"resolved"\s*:|\bregistry\.[\w-]+\.\w+/

/** The files that git tracks under `root`, by their path. Files that are not text are left out. */
export const trackedFiles = (root: string): Files => {
  const paths = execFileSync('git', ['-c', 'safe.directory=*', 'ls-files', '-z'], {
    cwd: root,
    encoding: 'utf8',
  }).split('\0')
  const entries = paths.flatMap((path) => {
    if (path === '') return []
    try {
      const source = readFileSync(`${root}/${path}`, 'utf8')
      return source.includes('\0') ? [] : [[path, source] as const]
    } catch {
      // Deleted in the working tree and not yet committed.
      return []
    }
  })
  return Object.fromEntries(entries)
}

/** Names at the top level that do not belong there. */
export const strangersAtTheTop = (files: Files): ReadonlyArray<string> =>
  [...new Set(Object.keys(files).map((path) => path.split('/')[0] ?? ''))].filter(
    (name) => !name.startsWith('.') && !allowed.includes(name),
  )

/** Lines that would only be true on the machine where they were written. */
export const tracesOfAMachine = (files: Files): ReadonlyArray<string> =>
  Object.entries(files).flatMap(([path, source]) =>
    source.split('\n').flatMap((line, at) => {
      const found = MACHINE_PATH.exec(line) ?? REGISTRY.exec(line)
      return found ? [`${path}:${at + 1} says ${found[0]}`] : []
    }),
  )
