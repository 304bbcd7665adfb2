import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const ENTRY = new URL('../../../dist/outbox/lmdb/index.js', import.meta.url).href

/** As if it had not been installed, and tells each time that somebody asks for it. */
const WITHOUT = `data:text/javascript,${encodeURIComponent(`
  import Module from 'node:module'
  const find = Module._resolveFilename
  Module._resolveFilename = (name, ...rest) => {
    if (name !== 'lmdb') return find(name, ...rest)
    console.log('asked for lmdb')
    throw Object.assign(new Error("Cannot find module 'lmdb'"), { code: 'MODULE_NOT_FOUND' })
  }`)}`

const SCRIPT = `
const { lmdbOutbox, openLmdbOutbox } = await import('${ENTRY}')
console.log('loaded')
const codec = { toText: String, fromText: String, sizeOf: () => 1 }
console.log(openLmdbOutbox({ path: 'nowhere', codec }).left.reason)
try {
  lmdbOutbox({ path: 'nowhere', codec })
} catch (error) {
  console.log(error.code, error.reason, error.message)
}`

it('without lmdb the module loads, and opening says how to get it', () => {
  const args = ['--import', WITHOUT, '--input-type=module', '-e', SCRIPT]
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  expect(stdout.trim().split('\n')).toEqual([
    'loaded',
    'asked for lmdb',
    'missing',
    'asked for lmdb',
    `HEADRACE_OUTBOX missing an outbox on a disk needs the package lmdb, which could not be loaded: run "npm install lmdb" (Cannot find module 'lmdb')`,
  ])
})
