import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import { newFolder } from './grounds.ts'
import { codec, textOf } from './killedItems.js'

const CHILD = fileURLToPath(new URL('fullDiskProcess.js', import.meta.url))

interface Told {
  readonly accepted: ReadonlyArray<string>
  readonly waiting: number
  readonly refusals: ReadonlyArray<string>
  readonly ended: ReadonlyArray<string>
  readonly failures: ReadonlyArray<string>
  readonly unhandled: ReadonlyArray<string>
}

/** Runs it where the disk is soon full: it refuses what is new, ends what it has, and afterwards exactly the rest is there. */
const survives = async (path: string, command: string, args: ReadonlyArray<string>): Promise<Told> => {
  const { stdout, stderr, status } = spawnSync(command, args, { encoding: 'utf8' })
  expect(status, stderr).toBe(0)
  // The process writes this, and nothing else, on its output.
  const told = JSON.parse(stdout) as Told
  expect(told).toMatchObject({ waiting: told.accepted.length, failures: [], unhandled: [] })
  expect(told.accepted.length).toBeGreaterThan(500)
  expect(told.ended).toHaveLength(Math.ceil(told.accepted.length / 2))

  const outbox = lmdbOutbox<string>({ path, codec })
  const ended = new Set(told.ended)
  const rest = told.accepted.filter((key) => !ended.has(key)).map(textOf)
  expect((await outbox.take(0, 100_000, 0)).map(({ item }) => item)).toEqual(rest)
  expect(outbox.stats()).toMatchObject({ waiting: rest.length, dead: 0, quarantined: 0 })
  await outbox.close()
  return told
}

describe('a disk that is full', () => {
  it('writes that fail: what is new is refused, what ends ends, and nothing is lost', async () => {
    const path = newFolder()
    // No file may be larger than 4 MiB; the signal that says so is ignored, so the write fails as on a full disk.
    const limited = `trap '' XFSZ; ulimit -f 8192; exec "$@"`
    const { refusals } = await survives(path, 'sh', ['-c', limited, 'sh', process.execPath, CHILD, path])
    expect(refusals).toEqual([
      expect.stringMatching(/^the outbox could not write, and goes on as soon as it can: is its disk full/),
    ])
    rmSync(path, { recursive: true })
  })

  // Mounting is not for every run: `npm run nightly` has it.
  const nightly: typeof it | undefined = process.env['LAWS'] === 'nightly' ? it : undefined
  nightly?.('a small disk: some of it is kept for what ends', async ({ skip }) => {
    const folder = newFolder()
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', folder]).status !== 0) {
      console.log('not shown: this user cannot mount a small disk')
      skip()
    }
    try {
      const path = join(folder, 'outbox')
      mkdirSync(path)
      const { refusals } = await survives(path, process.execPath, [CHILD, path])
      expect(refusals).toEqual([
        'no space is left on the disk of the outbox: nothing new is taken until there is',
      ])
    } finally {
      expect(spawnSync('umount', [folder]).status).toBe(0)
      rmSync(folder, { recursive: true })
    }
  })
})
