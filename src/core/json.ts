/** Where a text stops being JSON. */
export interface JsonFault {
  /** How many UTF-16 units before it are right; the length of the text, if it only ends too early. */
  readonly at: number
  /** What should stand there. */
  readonly expected: string
}

type State = 'value' | 'valueOrEnd' | 'key' | 'keyOrEnd' | 'colon' | 'after'

/** Goes over one token that starts at `from`: answers where it ends, or what is wrong with it. */
type Scan = (text: string, from: number) => number | JsonFault

const isSpace = (char: string): boolean => char === ' ' || char === '\t' || char === '\r' || char === '\n'
const isDigit = (char: string): boolean => char >= '0' && char <= '9' && char.length === 1
const isHex = (char: string): boolean => /^[0-9a-fA-F]$/.test(char)

const escape: Scan = (text, from) => {
  const kind = text.charAt(from)
  if (kind === '' || !'"\\/bfnrtu'.includes(kind)) {
    return { at: from, expected: 'one of " \\ / b f n r t u after a backslash' }
  }
  if (kind !== 'u') return from + 1
  for (let at = from + 1; at < from + 5; at++) {
    if (!isHex(text.charAt(at))) return { at, expected: 'four hexadecimal digits after \\u' }
  }
  return from + 5
}

const string: Scan = (text, from) => {
  let at = from + 1
  while (at < text.length) {
    const char = text.charAt(at)
    if (char === '"') return at + 1
    if (char < ' ') return { at, expected: 'no control character within a text: write it as \\u' }
    const end: number | JsonFault = char === '\\' ? escape(text, at + 1) : at + 1
    if (typeof end !== 'number') return end
    at = end
  }
  return { at, expected: 'a closing "' }
}

const digits: Scan = (text, from) => {
  let at = from
  while (isDigit(text.charAt(at))) at++
  return at > from ? at : { at, expected: 'a digit' }
}

const number: Scan = (text, from) => {
  let end: number | JsonFault = text.charAt(from) === '-' ? from + 1 : from
  end = text.charAt(end) === '0' ? end + 1 : digits(text, end)
  if (typeof end === 'number' && text.charAt(end) === '.') end = digits(text, end + 1)
  if (typeof end === 'number' && text.charAt(end).toLowerCase() === 'e') {
    const sign = text.charAt(end + 1)
    end = digits(text, sign === '+' || sign === '-' ? end + 2 : end + 1)
  }
  return end
}

const word =
  (letters: string): Scan =>
  (text, from) => {
    for (let i = 0; i < letters.length; i++) {
      if (text.charAt(from + i) !== letters.charAt(i)) return { at: from + i, expected: letters }
    }
    return from + letters.length
  }

const words: Readonly<Record<string, Scan>> = {
  t: word('true'),
  f: word('false'),
  n: word('null'),
  '"': string,
}

/** Something that is whole by itself; undefined if none starts with this character. */
const scalar = (char: string): Scan | undefined => (char === '-' || isDigit(char) ? number : words[char])

const expectation = (state: State, within: string | undefined): string => {
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

const closes = (state: State, char: string, within: string | undefined): boolean =>
  (char === '}' && within === '{' && (state === 'after' || state === 'keyOrEnd')) ||
  (char === ']' && within === '[' && (state === 'after' || state === 'valueOrEnd'))

/** The one character that may stand here, and what may follow it. */
const sign = (state: State, char: string, within: string | undefined): State | undefined => {
  if (state === 'colon') return char === ':' ? 'value' : undefined
  if (state === 'after' && char === ',' && within !== undefined) return within === '{' ? 'key' : 'value'
  return undefined
}

const afterToken = (state: State): State => (state === 'key' || state === 'keyOrEnd' ? 'colon' : 'after')

/** Where the token that starts here ends; undefined if none that is allowed here starts so. */
const token = (state: State, text: string, at: number): number | JsonFault | undefined => {
  const char = text.charAt(at)
  if (state === 'key' || state === 'keyOrEnd') return char === '"' ? string(text, at) : undefined
  return state === 'value' || state === 'valueOrEnd' ? scalar(char)?.(text, at) : undefined
}

/**
 * Says where a text stops being JSON and what should stand there, and never what stands there: `JSON.parse` quotes the text in its
 * message, and messages go to logs. Undefined if it is JSON. Without recursion, however deep the text is nested.
 */
export const jsonFault = (text: string): JsonFault | undefined => {
  const open: string[] = []
  let state: State = 'value'
  let at = 0

  for (;;) {
    while (isSpace(text.charAt(at))) at++
    const within = open.at(-1)
    const char = text.charAt(at)
    if (char === '' && state === 'after' && within === undefined) return undefined

    const next = sign(state, char, within)
    if (closes(state, char, within)) {
      open.pop()
      state = 'after'
      at++
    } else if ((char === '{' || char === '[') && (state === 'value' || state === 'valueOrEnd')) {
      open.push(char)
      state = char === '{' ? 'keyOrEnd' : 'valueOrEnd'
      at++
    } else if (next !== undefined) {
      state = next
      at++
    } else {
      const end = token(state, text, at)
      if (typeof end !== 'number') return end ?? { at, expected: expectation(state, within) }
      state = afterToken(state)
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

/** A wrong number in a policy would show hours later, so it throws where it is written. Answers the number if it is right. */
export const wholeNumber = (name: string, unit: string, least: number, value: number): number => {
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new RangeError(`${name} must be a whole number (${unit}) from ${String(least)}, got ${String(value)}`)
}

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
