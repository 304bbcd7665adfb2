/** Texts: any UTF-16, and sizes that are exact to the byte. */
import * as fc from 'fast-check'

/** Any code point but half a surrogate pair. fast-check's own unit `binary` needs seconds at first. */
export const character: fc.Arbitrary<string> = fc
  .oneof(fc.nat(0x7f), fc.nat(0xd7ff), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((point) => String.fromCodePoint(point))

const TROUBLESOME = ['', '\ud83d', 'a\udc00', '\u2028\u2029', '\u0000\u007f', '</script>&', 'é', '😀']

/** Any text: lone surrogates, controls and characters that JSON escapes among it. */
export const utf16Text: fc.Arbitrary<string> = fc.oneof(
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme' }) },
  fc.array(fc.nat(0xffff), { maxLength: 8 }).map((units) => String.fromCharCode(...units)),
  fc.constantFrom(...TROUBLESOME),
)

export const id: fc.Arbitrary<string> = utf16Text.filter((each) => each !== '')

/** A character of each size in JSON's UTF-8 bytes: `control` is written `\u0001`, and `quote` `\"`. */
export const alphabets = { ascii: 'x', accent: 'é', han: '語', emoji: '😀', control: '\u0001', quote: '"' }

export type Alphabet = keyof typeof alphabets

/** A text of a size, as data: it shrinks at once, and prints in a line. */
export interface SizedText {
  /** Bytes of UTF-8 that the text needs in JSON, without its quotes. */
  readonly bytes: number
  readonly alphabet: Alphabet
}

/** The text of that size. A rest below a character of the alphabet is filled with `x`. */
export const textOfSize = ({ bytes, alphabet }: SizedText): string => {
  const character = alphabets[alphabet]
  const width = Buffer.byteLength(JSON.stringify(character)) - 2
  return character.repeat(Math.floor(bytes / width)) + 'x'.repeat(bytes % width)
}

/**
 * Sizes around a limit, as data: at it, one below, one above and near it, in the alphabet or in all six.
 *
 * @example
 * import { sizedAround, textOfSize } from 'headrace/testing/laws'
 * import * as fc from 'fast-check'
 * const [size] = fc.sample(sizedAround(32_000, { alphabet: 'accent' }), { numRuns: 1, seed: 1 })
 * console.log(size !== undefined && Buffer.byteLength(textOfSize(size)) === size.bytes) // => true
 */
export const sizedAround = (
  limit: number,
  { alphabet }: { readonly alphabet?: Alphabet } = {},
): fc.Arbitrary<SizedText> => {
  const offsets = fc.oneof(fc.constantFrom(0, 1, -1), fc.integer({ min: -20, max: 20 }))
  // The names of the table.
  const names = Object.keys(alphabets) as ReadonlyArray<Alphabet>
  return fc
    .tuple(offsets, fc.constantFrom(...(alphabet === undefined ? names : [alphabet])))
    .map(([offset, drawn]) => ({ bytes: Math.max(0, limit + offset), alphabet: drawn }))
}

export type Command<Data> = { readonly [Name in keyof Data]: { readonly do: Name } & Data[Name] }[keyof Data]

/** Lists of commands, as data: up to 60; fast-check alone would stop at ten. A `weight` is beside 1. */
export const commands = <Data extends Readonly<Record<string, object>>>(of: {
  readonly [Name in keyof Data]: fc.MaybeWeightedArbitrary<Data[Name]>
}): fc.Arbitrary<ReadonlyArray<Command<Data>>> => {
  const each = Object.entries<fc.MaybeWeightedArbitrary<object>>(of).map(([name, data]) => {
    const { weight, arbitrary } = 'weight' in data ? data : { weight: 1, arbitrary: data }
    // It has the name and the data of one entry.
    return { weight, arbitrary: arbitrary.map((given) => ({ do: name, ...given }) as Command<Data>) }
  })
  return fc.array(fc.oneof(...each), { maxLength: 60, size: 'max' })
}
