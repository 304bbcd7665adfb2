import { right } from 'fp-ts/lib/Either.js'
import { wrong } from './Checked.ts'
import type { Checked } from './Checked.ts'

/** The name of a file. */
export const parseFile = (flag: string, path: string): Checked<string> =>
  path === '' ? wrong(`${flag} must be the name of a file`) : right(path)
