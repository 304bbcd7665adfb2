/** Where a text stops being JSON. */
export interface JsonFault {
  /** How many UTF-16 units before it are right; the length of the text, if it only ends too early. */
  readonly at: number
  /** What should stand there. */
  readonly expected: string
}

const isSpace = (char: string): boolean => char === ' ' || char === '\t' || char === '\r' || char === '\n'

/** What the pattern takes at this place; it must be sticky. */
const taken = (pattern: RegExp, text: string, at: number): string => {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}

/** An escape, which may lack its end. */
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{0,4})?/y

/** Where a string ends that starts at `from`. Without a regular expression for the whole: long strings would overflow its stack. */
const string = (text: string, from: number): number | JsonFault => {
  let at = from + 1
  while (at < text.length) {
    const char = text.charAt(at)
    if (char === '"') return at + 1
    if (char < ' ') return { at, expected: 'no control character within a text: write it as \\u' }
    const escape = char === '\\' ? taken(ESCAPE, text, at) : ''
    at += escape.length || 1
    if (escape === '\\') return { at, expected: 'one of " \\ / b f n r t u after a backslash' }
    if (escape.startsWith('\\u') && escape.length < 6)
      return { at, expected: 'four hexadecimal digits after \\u' }
  }
  return { at, expected: 'a closing "' }
}

/** A number, which may lack its last digits. */
const NUMBER = /-?(?:(?:0|[1-9]\d*)(?:\.\d+)?(?:\.|[eE][+-]?\d*)?)?/y

/** Where a number ends that starts at `from`. */
const number = (text: string, from: number): number | JsonFault => {
  const found = taken(NUMBER, text, from)
  const at = from + found.length
  return /\d$/.test(found) ? at : { at, expected: 'a digit' }
}

const WORDS: Readonly<Record<string, string>> = { t: 'true', f: 'false', n: 'null' }

/** Where a value ends that is no object and no array; undefined if none starts so. */
const scalar = (text: string, at: number): number | JsonFault | undefined => {
  const char = text.charAt(at)
  if (char === '"') return string(text, at)
  if (/[-\d]/.test(char)) return number(text, at)
  const word = WORDS[char]
  if (word === undefined) return undefined
  let end = at
  while (end < at + word.length && text.charAt(end) === word.charAt(end - at)) end++
  return end === at + word.length ? end : { at: end, expected: word }
}

/** What should stand at a place between strings, numbers and words. */
type Expected =
  | ('a value' | 'a value or ]' | 'a key in double quotes' | 'a key in double quotes or }')
  | ('a colon' | 'a comma or }' | 'a comma or ]' | 'nothing more')

/** What should stand behind a value in an object, in an array, or in neither. */
const behindValueIn = (opened: string | undefined): Expected => {
  if (opened === undefined) return 'nothing more'
  return opened === '{' ? 'a comma or }' : 'a comma or ]'
}

/**
 * Where a text stops being JSON and what should stand there; undefined if it is JSON. It never repeats the text, as `JSON.parse` does in its
 * message, for messages go to logs. Without recursion, however deep the text is nested.
 */
export const jsonFault = (text: string): JsonFault | undefined => {
  const open: string[] = []
  let expected: Expected = 'a value'
  let at = 0
  for (;;) {
    while (isSpace(text.charAt(at))) at++
    const char = text.charAt(at)
    const isValue = expected.startsWith('a value')
    const isKey: boolean = expected.startsWith('a key')
    if (char === '' && expected === 'nothing more') return undefined
    if ((char === '}' || char === ']') && expected.endsWith(`or ${char}`)) {
      open.pop()
      expected = behindValueIn(open.at(-1))
      at++
    } else if (isValue && (char === '{' || char === '[')) {
      open.push(char)
      expected = char === '{' ? 'a key in double quotes or }' : 'a value or ]'
      at++
    } else if (expected === 'a colon' && char === ':') {
      expected = 'a value'
      at++
    } else if (expected.startsWith('a comma') && char === ',') {
      expected = open.at(-1) === '{' ? 'a key in double quotes' : 'a value'
      at++
    } else {
      const end: number | JsonFault | undefined =
        isValue || (isKey && char === '"') ? scalar(text, at) : undefined
      if (typeof end !== 'number') return end ?? { at, expected }
      expected = isKey ? 'a colon' : behindValueIn(open.at(-1))
      at = end
    }
  }
}

/** Any object. What stands under its keys is unknown. */
export type Fields = Readonly<Record<string, unknown>>

/** Whether a value is an object with members, and neither an array nor null. */
export const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a value is an object that has these functions. */
export const hasFunctions = (value: unknown, names: ReadonlyArray<string>): value is Fields =>
  isRecord(value) && names.every((name) => typeof value[name] === 'function')

/** What a value is, in plain words; never the value. */
export const kindOf = (value: unknown): string => {
  switch (typeof value) {
    case 'undefined':
      return 'undefined'
    case 'object':
      return value === null ? 'null' : kindOfObject(value)
    case 'number':
      return Number.isFinite(value) ? 'a number' : 'NaN or infinity'
    default:
      return `a ${typeof value}`
  }
}

const kindOfObject = (value: object): string => {
  try {
    if (Array.isArray(value)) return 'an array'
    if (value instanceof Date) return 'a Date'
    if (ArrayBuffer.isView(value)) return 'binary data'
    if (value instanceof Map) return 'a Map'
    return value instanceof Set ? 'a Set' : 'an object'
  } catch {
    return 'an object that cannot be read'
  }
}
