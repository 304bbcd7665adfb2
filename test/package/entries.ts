/** What package.json lets out, read from it, so that no test keeps a list of its own. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import * as t from 'io-ts'
import { isRight } from 'fp-ts/lib/Either.js'

/** The top of the repository; ends in a slash. */
export const root: string = fileURLToPath(new URL('../..', import.meta.url))

const Manifest = t.intersection([
  t.type({
    name: t.string,
    version: t.string,
    bin: t.record(t.string, t.string),
    exports: t.record(t.string, t.union([t.string, t.strict({ types: t.string, default: t.string })])),
    dependencies: t.record(t.string, t.string),
    peerDependencies: t.record(t.string, t.string),
  }),
  t.partial({ optionalDependencies: t.record(t.string, t.string) }),
])

const decoded = Manifest.decode(JSON.parse(readFileSync(`${root}package.json`, 'utf8')))
if (!isRight(decoded)) throw new Error('package.json is not of the form that the tests of the package expect')

/** The fields of package.json that decide what a user gets. */
export const manifest: t.TypeOf<typeof Manifest> = decoded.right

/** A published module: `headrace/signing`, where its code is and where its types are. */
export interface Entry {
  readonly specifier: string
  readonly code: string
  readonly types: string
}

/** Every published module, in the order of package.json. */
export const entries: ReadonlyArray<Entry> = Object.entries(manifest.exports).flatMap(([path, target]) =>
  typeof target === 'string'
    ? []
    : [{ specifier: path.replace(/^\./, manifest.name), code: target.default, types: target.types }],
)
