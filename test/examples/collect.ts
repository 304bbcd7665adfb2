/** Finds what the docs show: fences in Markdown, `@example` blocks in src, and the files of docs/examples. */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import ts from 'typescript'

/** A piece of code in the docs, with the line where it starts. */
export interface Fence {
  readonly file: string
  /** Line of its first line of text, from 1. */
  readonly line: number
  readonly language: string
  /** Words after the language: `no-run`. */
  readonly flags: ReadonlyArray<string>
  readonly text: string
}

const FENCE = /^( *)(`{3,})([^\n`]*)\n([\s\S]*?)^ *\2 *$/gm

/** The fences of a Markdown text. `firstLine` is the line in its file where the text begins. */
export const fencesOf = (file: string, text: string, firstLine = 1): ReadonlyArray<Fence> =>
  [...text.matchAll(FENCE)].map((match) => {
    const [, indent = '', , info = '', body = ''] = match
    const [language = '', ...flags] = info.trim().split(/\s+/)
    const line = firstLine + text.slice(0, match.index).split('\n').length
    return { file, line, language, flags, text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), '') }
  })

/** The text of a doc block without its stars; every line keeps its place. */
const withoutStars = (comment: string): string =>
  comment
    .split('\n')
    .map((line, at) => (at === 0 ? '' : line.replace(/^\s*\* ?/, '').replace(/^\s*\/$/, '')))
    .join('\n')

const EXAMPLE = /^@example\b[^\n]*\n([\s\S]*?)(?=^@\w|(?![\s\S]))/gm

/** The examples of one doc block: its fences, or the whole text when there is none. */
const examplesInBlock = (file: string, comment: string, firstLine: number): ReadonlyArray<Fence> => {
  const text = withoutStars(comment)
  return [...text.matchAll(EXAMPLE)].flatMap((match) => {
    const [, body = ''] = match
    const line = firstLine + text.slice(0, match.index).split('\n').length
    const fences = fencesOf(file, body, line)
    return fences.length > 0 ? fences : [{ file, line, language: 'ts', flags: [], text: body }]
  })
}

/** Every `@example` of a source file. */
export const docExamplesOf = (file: string, source: string): ReadonlyArray<Fence> => {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.ES2022, true)
  const found = new Map<number, Fence[]>()
  const visit = (node: ts.Node): void => {
    for (const range of ts.getLeadingCommentRanges(source, node.getFullStart()) ?? []) {
      const comment = source.slice(range.pos, range.end)
      if (!comment.startsWith('/**') || found.has(range.pos)) continue
      const line = tree.getLineAndCharacterOfPosition(range.pos).line + 1
      found.set(range.pos, [...examplesInBlock(file, comment, line)])
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return [...found.values()].flat()
}

const filesIn = (root: string, folder: string, ending: string): ReadonlyArray<string> =>
  existsSync(`${root}${folder}`)
    ? readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
        .filter((path) => path.endsWith(ending))
        .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
        .sort((a, b) => a.localeCompare(b))
    : []

/** All that the docs of a repository show. `root` ends in a slash. */
export const collect = (root: string): ReadonlyArray<Fence> => {
  const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')
  const pages = [...(existsSync(`${root}README.md`) ? ['README.md'] : []), ...filesIn(root, 'docs', '.md')]
  return [
    ...pages.flatMap((path) => fencesOf(path, read(path))),
    ...filesIn(root, 'src', '.ts').flatMap((path) => docExamplesOf(path, read(path))),
    ...filesIn(root, 'docs/examples', '.ts').map((path) => ({
      file: path,
      line: 1,
      language: 'ts',
      flags: [],
      text: read(path),
    })),
  ]
}
