import { readdirSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { CollectorSettings } from '../../collector/CollectorSettings.ts'
import { isStoreIn } from '../../outbox/lmdb/Store.ts'
import { plain } from '../output/plain.ts'

const real = (path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path)
  }
}

const foldersIn = (path: string): ReadonlyArray<string> => {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((each) => each.isDirectory())
      .map(({ name }) => join(path, name))
  } catch {
    return []
  }
}

/**
 * Outboxes that lie beside those of a configuration, and that none of its destinations has: a destination that was taken out leaves its events
 * behind. In whole sentences.
 */
export const strayOutboxes = ({ destinations }: CollectorSettings): ReadonlyArray<string> => {
  const own = new Set(destinations.flatMap(({ outbox }) => (outbox === undefined ? [] : [real(outbox.path)])))
  return [...new Set([...own].map((path) => dirname(path)))]
    .flatMap(foldersIn)
    .filter((folder) => !own.has(real(folder)) && isStoreIn(folder))
    .map(
      (folder) =>
        `the outbox in ${plain(folder)} belongs to no destination of this file, so what waits there may be sent by nobody: see headrace dead ls --outbox ${plain(folder)}`,
    )
}
