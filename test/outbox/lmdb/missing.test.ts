import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { newFolder } from './grounds.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

const SCRIPT = `
import { lmdbOutbox, openLmdbOutbox } from './dist/outbox/lmdb/index.js'
const codec = { toText: String, fromText: String, sizeOf: () => 1 }
console.log(openLmdbOutbox({ path: 'outbox', codec }).left.reason)
try {
  lmdbOutbox({ path: 'outbox', codec })
} catch (error) {
  console.log(error.code, error.reason, error.message.split('(')[0].trim())
}`

it('without lmdb the module loads, and opening says how to get it', () => {
  const folder = newFolder()
  cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true })
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(ROOT, 'node_modules', 'fp-ts'), join(folder, 'node_modules', 'fp-ts'))
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', SCRIPT], {
    cwd: folder,
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  expect(stdout.trim().split('\n')).toEqual([
    'missing',
    'HEADRACE_OUTBOX missing an outbox on a disk needs the package lmdb, which could not be loaded: run "npm install lmdb"',
  ])
  rmSync(folder, { recursive: true })
})
