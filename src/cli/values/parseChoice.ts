import { right } from 'fp-ts/lib/Either.js'
import { wrong } from './Checked.ts'
import type { Checked } from './Checked.ts'

/** One of a few words. */
export const parseChoice = <const Word extends string>(
  flag: string,
  text: string,
  words: ReadonlyArray<Word>,
): Checked<Word> => {
  const word = words.find((each) => each === text)
  const [last, ...others] = [...words].reverse()
  return word === undefined
    ? wrong(`${flag} must be ${[...others].reverse().join(', ')} or ${String(last)}`)
    : right(word)
}
