import { importsOf, isRelative, resolve } from './imports.ts'
import type { Import } from './imports.ts'

/** Source files by their path under src: `{ 'event/Payload.ts': '…' }`. Planted sets and the real tree look the same. */
export type Files = Readonly<Record<string, string>>

/** What each file imports. Parsed once, used by every rule. */
export interface Graph {
  readonly files: Files
  readonly imports: ReadonlyMap<string, ReadonlyArray<Import>>
}

/** Reads the imports of a set of files. */
export const graphOf = (files: Files): Graph => ({
  files,
  imports: new Map(Object.entries(files).map(([path, source]) => [path, importsOf(path, source)])),
})

const neighbours = (graph: Graph, path: string): ReadonlyArray<string> =>
  (graph.imports.get(path) ?? [])
    .filter((each) => isRelative(each.specifier))
    .map((each) => resolve(path, each.specifier))

/** Every circle, as the path that closes it. Type imports count: a reader has to follow them too. */
export const circlesOf = (graph: Graph): ReadonlyArray<ReadonlyArray<string>> => {
  const done = new Set<string>()
  const circles: string[][] = []
  const visit = (path: string, trail: ReadonlyArray<string>): void => {
    const seenAt = trail.indexOf(path)
    if (seenAt >= 0) {
      circles.push([...trail.slice(seenAt), path])
      return
    }
    if (done.has(path)) return
    for (const next of neighbours(graph, path)) visit(next, [...trail, path])
    done.add(path)
  }
  for (const path of graph.imports.keys()) visit(path, [])
  return circles
}

/** How an entry comes to load a package: the chain of files, ended by the package's name. */
export interface Load {
  readonly specifier: string
  readonly chain: ReadonlyArray<string>
}

/** Every package that is loaded together with `entry`, with one chain that leads there. Lazy imports are not followed. */
export const loadsOf = (graph: Graph, entry: string): ReadonlyArray<Load> => {
  const cameFrom = new Map<string, string | undefined>([[entry, undefined]])
  const chainTo = (path: string): ReadonlyArray<string> => {
    const before = cameFrom.get(path)
    return before === undefined ? [path] : [...chainTo(before), path]
  }
  const loads: Load[] = []
  for (const [path] of cameFrom) {
    for (const { specifier, kind } of graph.imports.get(path) ?? []) {
      if (kind !== 'static') continue
      if (!isRelative(specifier)) loads.push({ specifier, chain: chainTo(path) })
      else if (!cameFrom.has(resolve(path, specifier))) cameFrom.set(resolve(path, specifier), path)
    }
  }
  return loads
}
