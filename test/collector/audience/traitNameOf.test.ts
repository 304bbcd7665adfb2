import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { traitNameOf, traitNamesOf } from '../../../src/collector/audienceChanges.ts'
const isLetter = (char: string): boolean => /^\p{L}$/u.test(char)
const isDigit = (char: string): boolean => /^\p{Nd}$/u.test(char)
const isMark = (char: string): boolean => /^\p{M}$/u.test(char)
const isLower = (char: string): boolean => /^\p{Ll}$/u.test(char)
const hasLower = (char: string): boolean =>
  isLetter(char) && char.normalize('NFD').toLowerCase() !== char.normalize('NFD')

/** CO3 as it is written, letter by letter. */
const oracle = (name: string): string | undefined => {
  const words: string[] = []
  let word = ''
  let afterLower = false
  const close = (): void => {
    if (word !== '') words.push(word)
    word = ''
    afterLower = false
  }
  for (const char of name.normalize('NFC')) {
    if (isMark(char) && word !== '') {
      word += char
      continue
    }
    if (!isLetter(char) && !isDigit(char)) {
      close()
      continue
    }
    if (afterLower && hasLower(char)) close()
    word += char
    afterLower = isLower(char)
  }
  close()
  return words.length === 0 ? undefined : words.join('_').toLowerCase().normalize('NFC')
}

const name: fc.Arbitrary<string> = fc.oneof(
  fc.string({
    unit: fc.constantFrom(...'aBcD1 _-!éÉßıİΣσЖжअि中ǅ\u0301\u0308𝐀𝐚½Ⅳ'),
    maxLength: 12,
    size: 'max',
  }),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 12 }),
)

type TraitName = (name: string) => string | undefined

interface NameLaw {
  readonly id: string
  readonly holds: (traitName: TraitName) => fc.IProperty<[string]>
}

const laws: ReadonlyArray<NameLaw> = [
  {
    id: 'N1 it is the name, read letter by letter',
    holds: (traitName) => fc.property(name, (each) => traitName(each) === oracle(each)),
  },
  {
    id: 'N2 a trait name is its own trait name',
    holds: (traitName) =>
      fc.property(name, (each) => {
        const trait = traitName(each)
        return trait === undefined || traitName(trait) === trait
      }),
  },
  {
    id: 'N3 what stands around the words and between them does not matter',
    holds: (traitName) =>
      fc.property(name, (each) => traitName(`  ${each.replaceAll(/[ _!-]/gu, '--')}?`) === traitName(each)),
  },
  {
    id: 'N4 both spellings of a letter are one',
    holds: (traitName) =>
      fc.property(name, (each) => traitName(each.normalize('NFD')) === traitName(each.normalize('NFC'))),
  },
]

const mutants: Readonly<Record<string, TraitName>> = {
  'keeps its case': (each) => each.match(/[\p{L}\p{Nd}][\p{L}\p{Nd}\p{M}]*/gu)?.join('_'),
  'knows one script': (each) => traitNameOf(each.replaceAll(/[^\x20-\x7e]/gu, ' ')),
  'does not see a hump': (each) => traitNameOf(each.toLowerCase()),
  'splits at every capital': (each) => traitNameOf(each.replaceAll(/(?=\p{Lu})/gu, ' ')),
  'splits before digits': (each) => traitNameOf(each.replaceAll(/(?<=\p{L})(?=\p{Nd})/gu, ' ')),
  'tears marks off': (each) => traitNameOf(each.normalize('NFD').replaceAll(/\p{M}/gu, '')),
  'splits at marks': (each) => traitNameOf(each.replaceAll(/\p{M}/gu, ' ')),
  'takes Roman numerals for letters': (each) => traitNameOf(each.replaceAll('Ⅳ', 'iv')),
  'does not normalise': (each) => {
    const words = each.match(/[\p{L}\p{Nd}][\p{L}\p{Nd}\p{M}]*/gu)
    return words
      ?.flatMap((word) => word.split(/(?<=\p{Ll}\p{M}*)(?=\p{CWL})/gu))
      .join('_')
      .toLowerCase()
  },
  'has something for nothing': (each) => traitNameOf(each) ?? '',
}

describe('the trait name', () => {
  it.each([
    ['VIP Customers (EU)', 'vip_customers_eu'],
    ['lastSeenAt', 'last_seen_at'],
    ['customersVIP', 'customers_vip'],
    ['VIPCustomers', 'vipcustomers'],
    ['v2Beta', 'v2beta'],
    ['30-day actives', '30_day_actives'],
    ['Größte Käufer', 'größte_käufer'],
    ['Лучшие клиенты', 'лучшие_клиенты'],
    ['हिन्दी दर्शक', 'हिन्दी_दर्शक'],
    ['优质 客户', '优质_客户'],
    ['cafe\u0301Bar', 'café_bar'],
    ['__proto__', 'proto'],
    ['½ price', 'price'],
    ['', undefined],
    ['!? —', undefined],
    ['\u0301', undefined],
  ])('of %j is %j', (given, expected) => {
    expect(traitNameOf(given)).toBe(expected)
  })

  it.each(laws)('keeps $id', ({ holds }) => {
    fc.assert(holds(traitNameOf), { numRuns: 2_000 })
  })

  it.each(Object.entries(mutants))('would be caught if it %s', (_, mutant) => {
    const failed = laws.map(
      ({ holds }) => fc.check(holds(mutant), { numRuns: 2_000, endOnFailure: true }).failed,
    )
    expect(failed).toContain(true)
  })
})

describe('the trait names of several', () => {
  it('come in order', () => {
    expect(traitNamesOf(['B b', 'a'])).toEqual({ _tag: 'Right', right: ['b_b', 'a'] })
  })

  it('are refused with every fault at once: what collides, what is empty, what is no text', () => {
    // A host without types.
    const names = ['New users', '', 'newUsers', 7, 'new-users'] as unknown as ReadonlyArray<string>
    expect(traitNamesOf(names)).toEqual({
      _tag: 'Left',
      left: [
        { path: '[1]', message: 'must hold a letter or a digit: the trait is named after it' },
        { path: '[2]', message: 'becomes the same trait as [0]: rename one of them' },
        { path: '[3]', message: 'must hold a letter or a digit: the trait is named after it' },
        { path: '[4]', message: 'becomes the same trait as [0]: rename one of them' },
      ],
    })
  })
})
