/** What two tools of other people find wrong with a package. */
import { checkPackage, Package } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'

/** The files of a package, by their paths in it. */
export type PackedFiles = Readonly<Record<string, Uint8Array>>

/** Of the paths that a package exports, of its files and of the fields of its package.json. */
export const faultsOfExports = async (files: PackedFiles): Promise<ReadonlyArray<string>> => {
  const packed = Object.entries(files).map(([path, data]) => ({ name: `package/${path}`, data }))
  const { messages, pkg } = await publint({ pkgDir: 'package', pack: { files: packed }, strict: true })
  return messages.map((message) => formatMessage(message, pkg, { color: false }) ?? message.code)
}

/**
 * These are not for us, which is what the tool calls its profile `esm-only`: `node10` does not know `exports`, and `node16-cjs` is a
 * compiler that does not know that Node requires ES modules by now (Node 20.19 does).
 */
const IGNORED: ReadonlyArray<string> = ['node10', 'node16-cjs']

/** Of its types, as each kind of compiler comes to them by each exported path. */
export const faultsOfTypes = async (
  files: PackedFiles,
  name: string,
  version: string,
): Promise<ReadonlyArray<string>> => {
  const placed = Object.entries(files).map(([path, data]) => [`/node_modules/${name}/${path}`, data] as const)
  const result = await checkPackage(new Package(Object.fromEntries(placed), name, version))
  if (!result.types) return ['it has no types']
  return result.problems
    .filter((problem) => !('resolutionKind' in problem && IGNORED.includes(problem.resolutionKind)))
    .map(({ kind, ...where }) => `${kind} ${JSON.stringify(where)}`)
}
