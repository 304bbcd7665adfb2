import ts from 'typescript'
import { root } from './entries.ts'
import type { Entry } from './entries.ts'

/** What one entry lets out, by name. A name may be both: a codec and its type. */
export interface Surface {
  readonly values: ReadonlyArray<string>
  readonly types: ReadonlyArray<string>
}

const compilerOptions: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  skipLibCheck: true,
  noEmit: true,
}

const sorted = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...new Set(names)].sort((a, b) => (a < b ? -1 : 1))

/** Reads the names that each entry lets out from its declarations; those in a namespace as `Failure.show`. */
export const surfacesOf = (entries: ReadonlyArray<Entry>): Readonly<Record<string, Surface>> => {
  const program = ts.createProgram(
    entries.map(({ types }) => `${root}${types}`),
    compilerOptions,
  )
  const checker = program.getTypeChecker()

  const read = (module: ts.Symbol, prefix: string): { values: string[]; types: string[] } => {
    const found: { values: string[]; types: string[] } = { values: [], types: [] }
    for (const symbol of checker.getExportsOfModule(module)) {
      const name = `${prefix}${symbol.name}`
      const meant = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
      const typeOnly = symbol.declarations?.some(ts.isTypeOnlyImportOrExportDeclaration) === true
      if (meant.flags & ts.SymbolFlags.ValueModule) {
        const inner = read(meant, `${name}.`)
        if (!typeOnly) found.values.push(name, ...inner.values)
        found.types.push(...inner.types)
        continue
      }
      if (meant.flags & ts.SymbolFlags.Value && !typeOnly) found.values.push(name)
      if (meant.flags & ts.SymbolFlags.Type) found.types.push(name)
      if (meant.flags === ts.SymbolFlags.None || checker.isUnknownSymbol(meant)) {
        throw new Error(`${name} is declared nowhere`)
      }
    }
    return found
  }

  return Object.fromEntries(
    entries.map(({ specifier, types }) => {
      const file = program.getSourceFile(`${root}${types}`)
      const module = file && checker.getSymbolAtLocation(file)
      if (module === undefined) throw new Error(`${specifier} has no declarations at ${types}`)
      const found = read(module, '')
      return [specifier, { values: sorted(found.values), types: sorted(found.types) }]
    }),
  )
}
