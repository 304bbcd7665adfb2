/** Where a text stops being JSON. */
export interface JsonFault {
  /** How many UTF-16 units before it are right; the length of the text, if it only ends too early. */
  readonly at: number
  /** What should stand there. */
  readonly expected: string
}

const isSpace = (char: string): boolean => char === ' ' || char === '\t' || char === '\r' || char === '\n'

/** The end of `count` characters that fit the pattern, or the first one that does not. */
const match = (
  text: string,
  from: number,
  pattern: RegExp,
  count: number,
  expected: string,
): number | JsonFault => {
  let at = from
  while (at < from + count && pattern.test(text.charAt(at))) at++
  return at === from + count ? at : { at, expected }
}

/** Where a string ends that starts at `from`. Without a regular expression for the whole: long strings would overflow its stack. */
const string = (text: string, from: number): number | JsonFault => {
  let at = from + 1
  while (at < text.length) {
    const char = text.charAt(at)
    if (char === '"') return at + 1
    if (char < ' ') return { at, expected: 'no control character within a text: write it as \\u' }
    at++
    if (char !== '\\') continue
    const end = match(text, at, /["\\/bfnrtu]/, 1, 'one of " \\ / b f n r t u after a backslash')
    if (typeof end !== 'number') return end
    const digits =
      text.charAt(at) === 'u' ? match(text, end, /[0-9a-fA-F]/, 4, 'four hexadecimal digits after \\u') : end
    if (typeof digits !== 'number') return digits
    at = digits
  }
  return { at, expected: 'a closing "' }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/** Where a number ends that starts at `from`. */
const number = (text: string, from: number): number | JsonFault => {
  NUMBER.lastIndex = from
  const found = NUMBER.exec(text)?.[0] ?? ''
  const at = from + found.length
  const rest = text.slice(at, at + 3)
  // A minus, a dot or an exponent without a digit is not part of what was found.
  const part = found === '' ? /^-/ : /^(?:\.|[eE][+-]?)/
  const open = part.exec(rest)?.[0] ?? ''
  return open === '' ? at : { at: at + open.length, expected: 'a digit' }
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

type State = 'value' | 'valueOrEnd' | 'key' | 'keyOrEnd' | 'colon' | 'after'

const expectedIn = (state: State, within: string | undefined): string => {
  switch (state) {
    case 'value':
      return 'a value'
    case 'valueOrEnd':
      return 'a value or ]'
    case 'key':
      return 'a key in double quotes'
    case 'keyOrEnd':
      return 'a key in double quotes or }'
    case 'colon':
      return 'a colon'
    case 'after':
      if (within === undefined) return 'nothing more'
      return within === '{' ? 'a comma or }' : 'a comma or ]'
  }
}

/**
 * Where a text stops being JSON and what should stand there; undefined if it is JSON. It never repeats the text, as `JSON.parse` does in its
 * message, for messages go to logs. Without recursion, however deep the text is nested.
 */
export const jsonFault = (text: string): JsonFault | undefined => {
  const open: string[] = []
  let state: State = 'value'
  let at = 0
  for (;;) {
    while (isSpace(text.charAt(at))) at++
    const within = open.at(-1)
    const char = text.charAt(at)
    const isValue = state === 'value' || state === 'valueOrEnd'
    const isKey: boolean = state === 'key' || state === 'keyOrEnd'
    if (char === '' && state === 'after' && within === undefined) return undefined
    if (
      (char === '}' && within === '{' && (state === 'after' || state === 'keyOrEnd')) ||
      (char === ']' && within === '[' && (state === 'after' || state === 'valueOrEnd'))
    ) {
      open.pop()
      state = 'after'
      at++
    } else if (isValue && (char === '{' || char === '[')) {
      open.push(char)
      state = char === '{' ? 'keyOrEnd' : 'valueOrEnd'
      at++
    } else if (state === 'colon' && char === ':') {
      state = 'value'
      at++
    } else if (state === 'after' && char === ',' && within !== undefined) {
      state = within === '{' ? 'key' : 'value'
      at++
    } else {
      const end: number | JsonFault | undefined =
        isValue || (isKey && char === '"') ? scalar(text, at) : undefined
      if (typeof end !== 'number') return end ?? { at, expected: expectedIn(state, within) }
      state = isKey ? 'colon' : 'after'
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
    if (value instanceof Map) return 'a Map'
    return value instanceof Set ? 'a Set' : 'an object'
  } catch {
    return 'an object that cannot be read'
  }
}
