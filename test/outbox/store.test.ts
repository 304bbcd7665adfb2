import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { newFolder } from '../support/folder.ts'
import { open, faultOf, tamper } from './lmdbKit.ts'

it.each([
  ['version', '2', 'newerVersion', 'has layout 2, and this headrace knows up to 1'],
  ['counters', '{"waiting":-1}', 'damaged', 'has lost its counters'],
])('refuses a store with another %s, and changes nothing', async (key, value, reason, message) => {
  const path = newFolder()
  await open(path).close()
  await tamper(path, (env) => env.openDB<string, string>('meta', { encoding: 'string' }).putSync(key, value))
  const before = readFileSync(join(path, 'data.mdb'))
  const fault = faultOf(path)
  expect(fault?.reason).toBe(reason)
  expect(fault?.message).toContain(message)
  expect(readFileSync(join(path, 'data.mdb')).equals(before)).toBe(true)
})

it.each(['data.mdb', 'lock.mdb', 'headrace.lock'])('refuses a link in the place of %s', (name) => {
  const [path, target] = [newFolder(), join(newFolder(), 'theirs')]
  symlinkSync(target, join(path, name))
  expect(faultOf(path)).toMatchObject({ reason: 'notAnOutbox', message: expect.stringContaining(name) })
  expect(existsSync(target)).toBe(false)
})

it('refuses the store of another program, and takes one that a killed process began', async () => {
  const path = newFolder()
  await tamper(path, (env) => env.putSync('theirs', Buffer.alloc(10)))
  expect(faultOf(path)?.reason).toBe('notAnOutbox')
  const begun = newFolder()
  await tamper(begun, (env) => env.transactionSync(() => undefined))
  expect(faultOf(begun)).toBe(undefined)
})
