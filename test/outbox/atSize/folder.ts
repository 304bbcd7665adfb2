import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { onTestFinished } from 'vitest'

/** A folder of this test, gone with it. */
export const folder = (): string => {
  const path = mkdtempSync(`${tmpdir()}/headrace-at-size-`)
  onTestFinished(() => {
    rmSync(path, { recursive: true, force: true })
  })
  return path
}
