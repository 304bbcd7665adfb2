/** An outbox over lmdb keeps the laws. A crash is a copy of the file as it is, which is what a killed process leaves. */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'vitest'
import { lmdbOutbox } from '../../src/outbox/lmdb/lmdbOutbox.ts'
import { outboxLaws, registerLaws, type OutboxItem } from '../../src/testing/laws/index.ts'
import { runs } from '../support/runs.ts'

const codec = {
  toText: JSON.stringify,
  fromText: (text: string) => JSON.parse(text) as OutboxItem,
  sizeOf: ({ byteLength }: OutboxItem) => byteLength,
}
const base = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
/** The folders of each place: one more after each crash. */
const folders = new Map<string, string[]>()
const folderOf = (place: string): string => folders.get(place)?.at(-1) ?? added(place)
const added = (place: string): string => {
  const folder = mkdtempSync(join(base, 'headrace-laws-'))
  folders.set(place, [...(folders.get(place) ?? []), folder])
  return folder
}

const laws = outboxLaws(
  ({ clock, bounds, place }) => lmdbOutbox<OutboxItem>({ path: folderOf(place), codec, clock, ...bounds }),
  {
    crash: (place) => copyFileSync(join(folderOf(place), 'data.mdb'), join(added(place), 'data.mdb')),
    leave: (place) => {
      for (const folder of folders.get(place) ?? []) rmSync(folder, { recursive: true })
      folders.delete(place)
    },
  },
)

// With 20 runs one seed of nine never reaches the bound in bytes.
registerLaws({ test }, laws, { runs: Math.max(100, runs(0.2)) })
