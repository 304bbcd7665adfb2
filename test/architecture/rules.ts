import ts from 'typescript'
import { circlesOf, loadsOf } from './graph.ts'
import type { Graph } from './graph.ts'
import { isRelative, parse, resolve } from './imports.ts'
import type { Import } from './imports.ts'
import {
  MOST_FILES,
  MOST_LINES,
  ROOT_FLOOR,
  bannedNames,
  floors,
  lightEntries,
  thirdParties,
} from './tables.ts'

/** A rule looks at a set of files and says, one line each, where it is broken. */
export type Rule = (graph: Graph) => ReadonlyArray<string>

const folderOf = (path: string): string => path.slice(0, Math.max(0, path.indexOf('/')))

const floorOf = (path: string): number | undefined =>
  folderOf(path) === '' ? ROOT_FLOOR : floors[folderOf(path)]

const eachImport = (graph: Graph, look: (path: string, found: Import) => string | undefined): string[] =>
  [...graph.imports].flatMap(([path, imports]) =>
    imports.flatMap((found) => {
      const fault = look(path, found)
      return fault === undefined ? [] : [`${path}:${found.line} ${fault}`]
    }),
  )

const everyFolderHasAFloor: Rule = ({ files }) =>
  [...new Set(Object.keys(files).map(folderOf))]
    .filter((folder) => folder !== '' && floors[folder] === undefined)
    .map((folder) => `${folder}/ stands on no floor`)

const importsGoDown: Rule = (graph) =>
  eachImport(graph, (path, { specifier }) => {
    if (!isRelative(specifier)) return undefined
    const target = resolve(path, specifier)
    if (target.startsWith('..')) return `leaves src by '${specifier}'`
    if (!(target in graph.files)) return `imports '${specifier}', which is no file`
    const [here, there] = [floorOf(path), floorOf(target)]
    if (folderOf(path) === folderOf(target) || here === undefined || there === undefined) return undefined
    return there < here ? undefined : `is on floor ${here} and imports ${target} on floor ${there}`
  })

const stands = (path: string, places: ReadonlyArray<string>): boolean =>
  places.some((place) => place === '*' || place === path || (place.endsWith('/') && path.startsWith(place)))

const thirdPartiesInTheirPlace: Rule = (graph) =>
  eachImport(graph, (path, { specifier, kind }) => {
    if (isRelative(specifier)) return undefined
    const place = thirdParties.find((each) => each.package.test(specifier))
    if (place === undefined) return `imports '${specifier}', which no place is named for`
    if (stands(path, place.places)) return undefined
    if (kind === 'type' && stands(path, place.types ?? [])) return undefined
    return `imports '${specifier}', which belongs to ${place.places.join(' ')}`
  })

const noCircles: Rule = (graph) => circlesOf(graph).map((circle) => circle.join(' -> '))

const shortFiles: Rule = ({ files }) =>
  Object.entries(files).flatMap(([path, source]) => {
    const lines = source.replace(/\n$/, '').split('\n').length
    return lines > MOST_LINES ? [`${path} has ${lines} lines, the most is ${MOST_LINES}`] : []
  })

const smallFolders: Rule = ({ files }) => {
  const counts = new Map<string, number>()
  for (const path of Object.keys(files)) {
    const folder = path.slice(0, path.lastIndexOf('/') + 1)
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return [...counts]
    .filter(([, count]) => count > MOST_FILES)
    .map(([folder, count]) => `${folder} has ${count} files, the most is ${MOST_FILES}`)
}

const words = (name: string): ReadonlyArray<string> =>
  name
    .replace(/\.ts$/, '')
    .split(/[^A-Za-z0-9]|(?<=[a-z0-9])(?=[A-Z])/)
    .map((word) => word.toLowerCase())

const namesThatSaySomething: Rule = ({ files }) =>
  Object.keys(files).flatMap((path) => {
    const banned = path
      .split('/')
      .flatMap(words)
      .find((word) => bannedNames.includes(word))
    return banned === undefined ? [] : [`${path} is named '${banned}'`]
  })

const namesDifferByMoreThanCase: Rule = ({ files }) => {
  const seen = new Map<string, string>()
  return Object.keys(files).flatMap((path) => {
    const twin = seen.get(path.toLowerCase())
    seen.set(path.toLowerCase(), path)
    // On disks that ignore case the two would be one file.
    return twin === undefined ? [] : [`${twin} and ${path} differ only by case`]
  })
}

const isIndex = (path: string): boolean => /(^|\/)index\.ts$/.test(path)

const isExported = (node: ts.Statement): boolean =>
  ts.canHaveModifiers(node) &&
  ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true

/** The values that a file makes and exports: functions and constants, no types and no re-exports. */
const exportedValues = (path: string, source: string): ReadonlyArray<string> =>
  parse(path, source)
    .statements.filter(isExported)
    .flatMap((node) => {
      if (ts.isVariableStatement(node))
        return node.declarationList.declarations.map(({ name }) => name.getText())
      const named = ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node)
      return named ? [node.name?.text ?? 'default'] : []
    })

const camelCaseIsOneFunction: Rule = ({ files }) =>
  Object.entries(files).flatMap(([path, source]) => {
    const stem = path.slice(path.lastIndexOf('/') + 1).replace(/\.ts$/, '')
    if (!/^[a-z]/.test(stem) || isIndex(path) || path === 'cli/main.ts') return []
    // A constant in capitals may stand beside the function whose number it is.
    const names = exportedValues(path, source).filter((name) => !/^[A-Z][A-Z0-9_]*$/.test(name))
    return names.length === 1 && names[0] === stem
      ? []
      : [`${path} exports ${names.join(', ') || 'nothing'}, not the one function ${stem}`]
  })

const isExplicitReExport = (statement: ts.Statement): boolean =>
  ts.isExportDeclaration(statement) &&
  statement.moduleSpecifier !== undefined &&
  // `export *` has no clause; `export { a } from` and `export * as A from` name what they let out.
  statement.exportClause !== undefined

const indexesOnlyReExport: Rule = ({ files }) =>
  Object.entries(files).flatMap(([path, source]) => {
    if (!isIndex(path)) return []
    const file = parse(path, source)
    return file.statements
      .filter((statement) => !isExplicitReExport(statement))
      .map((statement) => {
        const line = file.getLineAndCharacterOfPosition(statement.getStart(file)).line + 1
        return `${path}:${line} is no explicit re-export`
      })
  })

const noBarrelImports: Rule = (graph) =>
  eachImport(graph, (path, { specifier }) => {
    if (/^headrace(\/|$)/.test(specifier)) return `imports its own package, '${specifier}'`
    if (!isRelative(specifier)) return undefined
    if (isIndex(resolve(path, specifier))) return `imports the index '${specifier}'`
    return specifier.endsWith('.ts') ? undefined : `imports '${specifier}', not a file ending in .ts`
  })

const lightEntriesStayLight: Rule = (graph) =>
  Object.entries(lightEntries).flatMap(([entry, forbidden]) =>
    loadsOf(graph, entry)
      .filter(({ specifier }) => forbidden.test(specifier))
      .map(({ specifier, chain }) => [...chain, specifier].join(' -> ')),
  )

const SILENCERS = /eslint-disable|@ts-ignore|@ts-nocheck|\b(TODO|FIXME)\b/

const nothingIsSilenced: Rule = ({ files }) =>
  Object.entries(files).flatMap(([path, source]) =>
    source.split('\n').flatMap((line, at) => {
      const found = SILENCERS.exec(line)
      return found ? [`${path}:${at + 1} says ${found[0]}`] : []
    }),
  )

/** The rules of the house, by what they demand. */
export const rules = {
  everyFolderHasAFloor,
  importsGoDown,
  thirdPartiesInTheirPlace,
  noCircles,
  shortFiles,
  smallFolders,
  namesThatSaySomething,
  namesDifferByMoreThanCase,
  camelCaseIsOneFunction,
  indexesOnlyReExport,
  noBarrelImports,
  lightEntriesStayLight,
  nothingIsSilenced,
} satisfies Record<string, Rule>
