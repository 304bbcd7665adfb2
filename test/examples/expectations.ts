/** `// => value` after a statement says what it prints; or, if it prints nothing, what its value is. */
import ts from 'typescript'

const MARK = /^\/\/ ?=> ?(.*)$/

/** Prints the value of a statement, unless the statement has printed something itself since the mark. */
export const SHOW = '__show'
export const MARK_HERE = '__mark'

/** Code that prints what its comments speak of, and what they say, in order. Lines stay where they were. */
export interface Instrumented {
  readonly code: string
  readonly expected: ReadonlyArray<string>
}

interface Comment {
  readonly pos: number
  readonly end: number
  readonly text: string
  readonly line: number
  /** Nothing but blanks stands before it on its line. */
  readonly alone: boolean
}

const commentsOf = (source: string, tree: ts.SourceFile): ReadonlyArray<Comment> => {
  const found = new Map<number, Comment>()
  const look = (ranges: ReadonlyArray<ts.CommentRange> | undefined): void => {
    for (const { pos, end, kind } of ranges ?? []) {
      if (kind !== ts.SyntaxKind.SingleLineCommentTrivia) continue
      const { line, character } = tree.getLineAndCharacterOfPosition(pos)
      const alone = source.slice(pos - character, pos).trim() === ''
      found.set(pos, { pos, end, text: source.slice(pos, end), line, alone })
    }
  }
  const visit = (node: ts.Node): void => {
    look(ts.getLeadingCommentRanges(source, node.getFullStart()))
    look(ts.getTrailingCommentRanges(source, node.getEnd()))
    // Tokens too: a comment may stand before a closing bracket, which is no child of its own.
    node.getChildren(tree).forEach(visit)
  }
  visit(tree)
  return [...found.values()].sort((a, b) => a.pos - b.pos)
}

const isOpen = (value: string): boolean => value.split(/[[({]/).length > value.split(/[\])}]/).length

/**
 * What the comments expect. Comment lines of their own that follow directly go on with the value, when they are set in
 * further or a bracket is still open.
 */
const expectedOf = (comments: ReadonlyArray<Comment>): ReadonlyArray<string> => {
  const expected: string[] = []
  let lastLine = -1
  for (const { text, line, alone } of comments) {
    const value = MARK.exec(text)?.[1]
    const before = expected.at(-1) ?? ''
    if (value !== undefined) expected.push(value)
    else if (alone && line === lastLine + 1 && (text.startsWith('//  ') || isOpen(before))) {
      expected[expected.length - 1] = `${before} ${text.slice(2)}`
    } else continue
    lastLine = line
  }
  return expected
}

/** It may print later, as `subscribe(console.log)` does; its own value is then of no interest. */
const printsItself = (node: ts.Expression): boolean => /\bconsole\s*\./.test(node.getText())

interface Edit {
  readonly at: number
  readonly insert: string
}

const editsFor = (statement: ts.Statement): ReadonlyArray<Edit> => {
  if (ts.isExpressionStatement(statement)) {
    const { expression } = statement
    if (printsItself(expression)) return []
    return [
      { at: expression.getStart(), insert: `;${MARK_HERE}();${SHOW}(` },
      { at: expression.getEnd(), insert: ')' },
    ]
  }
  if (ts.isVariableStatement(statement)) {
    const [declaration] = statement.declarationList.declarations
    if (declaration === undefined || !ts.isIdentifier(declaration.name)) return []
    return [
      { at: statement.getStart(), insert: `;${MARK_HERE}();` },
      { at: statement.getEnd(), insert: `;${SHOW}(${declaration.name.text})` },
    ]
  }
  return []
}

/** Makes an example print what its comments speak of. */
export const instrument = (source: string): Instrumented => {
  const tree = ts.createSourceFile('example.ts', source, ts.ScriptTarget.ES2022, true)
  const comments = commentsOf(source, tree)
  const marked = comments.filter(({ text, alone }) => MARK.test(text) && !alone).map(({ line }) => line)
  const edits = tree.statements
    .filter((statement) => marked.includes(tree.getLineAndCharacterOfPosition(statement.getEnd()).line))
    .flatMap(editsFor)
    .sort((a, b) => b.at - a.at)
  const code = edits.reduce((text, { at, insert }) => text.slice(0, at) + insert + text.slice(at), source)
  return { code, expected: expectedOf(comments) }
}

const plain = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

/** Whether a text is as shown. Blanks count as one, `…` stands for anything. */
export const matches = (shown: string, text: string): boolean => {
  const pieces = plain(shown).split('…')
  const pattern = pieces.map((piece) => piece.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[^]*')
  return new RegExp(`^${pattern}$`).test(plain(text))
}
