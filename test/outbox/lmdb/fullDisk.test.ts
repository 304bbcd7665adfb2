import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import type { LmdbOutbox } from '../../../src/outbox/lmdb/LmdbContract.ts'
import { openLmdbOutbox } from '../../../src/outbox/lmdb/openLmdbOutbox.ts'
import { newFolder } from './grounds.ts'
import { codec, textOf } from './killedItems.js'

const CHILD = fileURLToPath(new URL('fullDiskProcess.js', import.meta.url))

// Mounting is not for every run: `npm run nightly` has it.
const nightly: typeof it | undefined = process.env['RUNS'] === '10000' ? it : undefined

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

const littleRoom: typeof describe | undefined = nightly && describe

littleRoom?.('a disk with little room', () => {
  let path = ''
  beforeEach(() => {
    path = newFolder()
  })
  afterEach(() => {
    rmSync(path, { recursive: true })
  })

  const open = (): LmdbOutbox<string> => lmdbOutbox<string>({ path, codec })

  const refusal = async (): Promise<readonly [string, string] | undefined> => {
    const opened = openLmdbOutbox<string>({ path, codec })
    if (opened._tag === 'Left') return [opened.left.reason, opened.left.message]
    await opened.right.close()
    return undefined
  }

  /** Runs it in a folder on a small disk of its own, with so many bytes free. */
  const onSmallDisk = async (
    skip: () => void,
    use: (leave: (bytes: number) => void) => Promise<void>,
  ): Promise<void> => {
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', path]).status !== 0) {
      console.log('not shown: this user cannot mount a small disk')
      skip()
    }
    const fill = join(path, 'fill')
    const leave = (bytes: number): void => {
      rmSync(fill, { force: true })
      spawnSync('dd', ['if=/dev/zero', `of=${fill}`, 'bs=4096'])
      if (bytes > 0) spawnSync('truncate', ['-s', `-${String(bytes)}`, fill])
    }
    try {
      await use(leave)
    } finally {
      expect(spawnSync('umount', [path]).status).toBe(0)
    }
  }

  const end = async (outbox: LmdbOutbox<string>, count: number): Promise<void> => {
    for (const entry of await outbox.take(0, count, 0))
      await outbox.end(entry, { _tag: 'Delivered', item: entry.item, attempts: 1, receipt: { sink: 'a' } })
  }

  it('takes no new store, says why, and leaves nothing there', async ({ skip }) => {
    await onSmallDisk(skip, async (leave) => {
      for (const free of [0, 4_096, 32_768, 262_144]) {
        leave(free)
        expect((await refusal())?.[0]).toBe('noSpace')
        expect(readdirSync(path)).toEqual(['fill'])
      }
      leave(1_048_576)
      expect(await refusal()).toBe(undefined)
    })
  })

  it('opens a store that is there, and what waits can leave', async ({ skip }) => {
    await onSmallDisk(skip, async (leave) => {
      const before = open()
      await Promise.all(Array.from({ length: 500 }, async (_, at) => before.append(`item ${String(at)}`)))
      await end(before, 250)
      await before.close()
      leave(0)
      const outbox = open()
      expect((await refusal())?.[1]).toContain('is in use by this process')
      // In the pages that the first half has left.
      await end(outbox, 250)
      expect(outbox.stats().waiting).toBe(0)
      await outbox.close()
      expect(readdirSync(path).sort()).toEqual(['data.mdb', 'fill', 'lock.mdb'])
      // lmdb writes there through memory, where a full disk ends the process.
      rmSync(join(path, 'lock.mdb'))
      leave(0)
      expect((await refusal())?.[0]).toBe('noSpace')
      closeSync(openSync(join(path, 'lock.mdb'), 'w'))
      expect((await refusal())?.[0]).toBe('noSpace')
    })
  })
})
