import { posix } from 'node:path'
import ts from 'typescript'

/** One place where a file names another module. */
export interface Import {
  readonly specifier: string
  /** `static` loads the module with the file, `lazy` when the line runs, `type` never. */
  readonly kind: 'static' | 'lazy' | 'type'
  readonly line: number
}

const namedModule = (node: ts.Node): { text: string; kind: Import['kind'] } | undefined => {
  if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
    // `import { type A }` still loads the module under verbatimModuleSyntax; only `import type` is gone.
    const isType = node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword
    return { text: node.moduleSpecifier.text, kind: isType ? 'type' : 'static' }
  }
  if (ts.isExportDeclaration(node) && node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier)) {
    return { text: node.moduleSpecifier.text, kind: node.isTypeOnly ? 'type' : 'static' }
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
    const { literal } = node.argument
    return ts.isStringLiteral(literal) ? { text: literal.text, kind: 'type' } : undefined
  }
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    const [first] = node.arguments
    return first && ts.isStringLiteralLike(first) ? { text: first.text, kind: 'lazy' } : undefined
  }
  return undefined
}

/** The syntax tree of a file, for rules that need more than its imports. */
export const parse = (path: string, source: string): ts.SourceFile =>
  ts.createSourceFile(path, source, ts.ScriptTarget.ES2022, true)

/** Every module that a file names: imports, re-exports, `import()` and `import('x').T`. */
export const importsOf = (path: string, source: string): ReadonlyArray<Import> => {
  const file = parse(path, source)
  const found: Import[] = []
  const visit = (node: ts.Node): void => {
    const named = namedModule(node)
    if (named) {
      const line = file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1
      found.push({ specifier: named.text, kind: named.kind, line })
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

/** Whether a module is named by its place and not by its package. */
export const isRelative = (specifier: string): boolean => specifier.startsWith('.')

/** The path that a relative import means, in the words of the file map. */
export const resolve = (from: string, specifier: string): string =>
  posix.normalize(posix.join(posix.dirname(from), specifier))
