import { readFileSync } from 'node:fs'

/** The version in package.json. */
export const packageVersion = (): string => {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  // npm installs no package whose version is not a text.
  return (JSON.parse(text) as { readonly version: string }).version
}
