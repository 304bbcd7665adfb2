import { right } from 'fp-ts/lib/Either.js'
import { wrong } from './Checked.ts'
import type { Checked } from './Checked.ts'

/**
 * Headers as curl has them, `Name: value`. What a name and a value may be is for the settings to say; here only the form is
 * looked at, and that no name is there twice. What is wrong is named by its place: the text may be a credential.
 */
export const parseHeaders = (
  flag: string,
  texts: ReadonlyArray<string>,
): Checked<Readonly<Record<string, string>>> => {
  const entries: Array<readonly [string, string]> = []
  const seen = new Set<string>()
  for (const [at, text] of texts.entries()) {
    const place = texts.length === 1 ? flag : `${flag} number ${String(at + 1)}`
    const colon = text.indexOf(':')
    const name = text.slice(0, Math.max(0, colon)).trim()
    if (name === '') return wrong(`${place} must be a name, a colon and a value, such as 'X-Team: blue'`)
    if (seen.has(name.toLowerCase()))
      return wrong(`${place} has a name that was given before: give each header once`)
    seen.add(name.toLowerCase())
    entries.push([name, text.slice(colon + 1).trim()])
  }
  return right(Object.fromEntries(entries))
}
