/** A folder for one test, on a disk that need not be synced where there is one. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Makes a folder that is removed after the test. */
export const newFolder = (): string => {
  const path = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'headrace-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Texts as the items of an outbox. */
export const textCodec = {
  toText: (item: string): string => item,
  fromText: (text: string): string => text,
  sizeOf: (item: string): number => item.length,
}
