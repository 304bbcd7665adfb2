/** The reference: no doc block is missing, and no link or type leads nowhere. docs/typedoc.jsonc makes warnings errors. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const TYPEDOC = 'node_modules/typedoc/bin/typedoc --options docs/typedoc.jsonc --emit none'.split(' ')
const typedoc = (...args: ReadonlyArray<string>) =>
  spawnSync(process.execPath, [...TYPEDOC, ...args], { cwd: root, encoding: 'utf8' })

test('TypeDoc finds nothing wrong in the doc blocks', () => {
  expect(typedoc()).toMatchObject({ status: 0, stdout: '', stderr: '' })
})

test('which it tells if it does', () => {
  const { status, stderr } = typedoc('--requiredToBeDocumented', 'Property')
  expect(status).not.toBe(0)
  expect(stderr).toContain('does not have any documentation')
})
