/** A folder for one test, on a disk that need not be synced where there is one. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

export const newFolder = (base = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()): string => {
  const path = mkdtempSync(join(base, 'headrace-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

export const diskFolder = (): string => newFolder(tmpdir())

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Makes a project of ES modules that has the built package: the caller removes it. */
export const projectFolder = (): string => {
  mkdirSync(`${root}node_modules/.cache`, { recursive: true })
  const path = mkdtempSync(`${root}node_modules/.cache/headrace-`)
  mkdirSync(`${path}/node_modules`)
  symlinkSync(root, `${path}/node_modules/headrace`, 'dir')
  writeFileSync(`${path}/package.json`, '{ "type": "module" }')
  return path
}

export const textCodec = {
  toText: (item: string): string => item,
  fromText: (text: string): string => text,
  sizeOf: (item: string): number => item.length,
}
