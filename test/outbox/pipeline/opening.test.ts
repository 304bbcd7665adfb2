import { spawnSync } from 'node:child_process'
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import { codec } from '../lmdb/killedItems.js'
import { scratch } from './killed.ts'

const CHILD = fileURLToPath(new URL('openingProcess.js', import.meta.url))
const KILLER = fileURLToPath(new URL('killedAtCall.js', import.meta.url))

/** It starts a process for each of some thirty calls. */
const LIMIT = 240_000

interface Said {
  readonly killed: boolean
  readonly appended: boolean
}

/** Opens the folder, appends the text and closes it; dies before its call number `at` to the file system. */
const openAndDie = (path: string, text: string, at: number): Said => {
  const { signal, stdout, stderr } = spawnSync(process.execPath, ['--import', KILLER, CHILD, path, text], {
    env: { PATH: process.env['PATH'] ?? '', KILL_AT: String(at), KILL_IN: path },
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  return { killed: signal === 'SIGKILL', appended: stdout.startsWith('appended') }
}

const heldIn = async (path: string): Promise<ReadonlyArray<string>> => {
  const outbox = lmdbOutbox<string>({ path, codec })
  const entries = await outbox.lease(0, { count: 10, retries: 10 })
  expect(outbox.stats()).toMatchObject({ waiting: entries.length, dead: 0, quarantined: 0 })
  await outbox.close()
  return entries.map(({ item }) => item)
}

/** Kills it at each of its calls, in a folder of its own each time. Answers at how many. */
const killedEverywhere = async (
  folderOf: (at: number) => string,
  before: ReadonlyArray<string>,
): Promise<number> => {
  for (let at = 1; ; at++) {
    const path = folderOf(at)
    const { killed, appended } = openAndDie(path, 'mine', at)
    const held = await heldIn(path)
    expect(held.slice(0, before.length)).toEqual(before)
    // What was answered is there; what was not answered may be.
    if (appended) expect(held.slice(before.length)).toEqual(['mine'])
    else expect([[], ['mine']]).toContainEqual(held.slice(before.length))
    if (!killed) return at - 1
  }
}

describe(
  'a folder opens after a process was killed at any of its calls to the file system',
  { timeout: LIMIT },
  () => {
    it('while it made the folder, opened, worked and closed it', async () => {
      const root = scratch()
      const steps = await killedEverywhere((at) => join(root, String(at)), [])
      // From the folder itself over the draft of the store to the owner's file that is taken away.
      expect(steps).toBeGreaterThan(14)
    })

    it('while it took over what a killed process had left', async () => {
      const root = scratch()
      // Its last call of all takes the owner's file away, so one that dies there leaves a folder that is a dead process's.
      let stale = join(root, 'stale-1')
      for (let at = 1; !openAndDie(stale, 'before', at).appended;) stale = join(root, `stale-${++at}`)
      expect(existsSync(join(stale, 'owner.json'))).toBe(true)
      const steps = await killedEverywhere(
        (at) => {
          const path = join(root, String(at))
          cpSync(stale, path, { recursive: true })
          return path
        },
        ['before'],
      )
      expect(steps).toBeGreaterThan(12)
    })
  },
)
