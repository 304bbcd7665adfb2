import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** Changes one letter of a body into another one, in the file of a store. */
export const spoil = (path: string, body: string, letter = '!'): void => {
  const file = join(path, 'data.mdb')
  const bytes = readFileSync(file)
  const descriptor = openSync(file, 'r+')
  // A page that was copied may still lie where it was, so all of them.
  for (let at = bytes.indexOf(body); at >= 0; at = bytes.indexOf(body, at + 1))
    writeSync(descriptor, letter, at + 3)
  closeSync(descriptor)
}
