/** White space, and a bracket, the beginning of a string, a number or a word; empty at the end. */
const JSON_TOKEN = /[ \t\r\n]*([{}[\]:,"]|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|$)/y
/** A part of a string: a whole one would overflow the stack of the expression. */
const PART = /[^"\\\u0000-\u001f]+|\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y
const VALUE_START = '{["0'

// `JSON.parse` names no place for most faults, and repeats the text in its message, which goes to logs.
/** The UTF-16 position where a text stops being JSON: in a number or word, its beginning. Else undefined. */
export const jsonFault = (text: string): number | undefined => {
  /** The closing brackets of the open ones. */
  const open: string[] = []
  /** The tokens allowed next, by their beginnings: 0 for a number or a word, $ for the end. */
  let next = VALUE_START
  JSON_TOKEN.lastIndex = 0
  for (;;) {
    const from = JSON_TOKEN.lastIndex
    const token = JSON_TOKEN.exec(text)?.[1] ?? '?'
    const kind = token === '' ? '$' : token.replace(/^[-\dtfn].*/, '0').charAt(0)
    if (!next.includes(kind)) return from + text.slice(from).search(/[^ \t\r\n]|$/)
    if (kind === '$') return undefined
    if (kind === '"') {
      PART.lastIndex = JSON_TOKEN.lastIndex
      while (PART.test(text)) JSON_TOKEN.lastIndex = PART.lastIndex
      if (text.charAt(JSON_TOKEN.lastIndex++) !== '"') return JSON_TOKEN.lastIndex - 1
    }
    const isKey = kind === '"' && !next.includes('0')
    if (kind === '}' || kind === ']') open.pop()
    if (kind === '{') open.push('}')
    if (kind === '[') open.push(']')
    if (kind === '{') next = '"}'
    else if (kind === '[') next = `${VALUE_START}]`
    else if (isKey) next = ':'
    else if (kind === ':') next = VALUE_START
    else if (kind === ',') next = open.at(-1) === '}' ? '"' : VALUE_START
    else next = open.length === 0 ? '$' : `,${open.at(-1) ?? ''}`
  }
}

/** A text that JSON writes as it is, between quotes. */
export const PLAIN_TEXT = /^[ !#-[\]-~]*$/

/** Any object. The values of its keys are unknown. */
export type Fields = Readonly<Record<string, unknown>>

/** Whether a value is an object with members, and neither an array nor null. */
export const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A copy: slices and sums hold all the texts that they were made of. Half a surrogate pair stays. */
export const flat = (text: string): string => Buffer.from(text, 'utf16le').toString('utf16le')

export const hasFunctions = (value: unknown, names: ReadonlyArray<string>): value is Fields =>
  isRecord(value) && names.every((name) => typeof value[name] === 'function')

/** The kind of a value, in plain words; never the value. */
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
