import { right } from 'fp-ts/lib/Either.js'
import { wrong } from './Checked.ts'
import type { Checked } from './Checked.ts'

const FORM = /^(\d+(?:\.\d+)?)(%?)$/

/** A share, from 0 to 1; `30%` is another way to write `0.3`. */
export const parseRate = (flag: string, text: string): Checked<number> => {
  const [, amount, percent] = FORM.exec(text) ?? []
  const rate = Number(amount) / (percent === '%' ? 100 : 1)
  return rate <= 1 ? right(rate) : wrong(`${flag} must be a share such as 0.3 or 30%, from 0 to 1`)
}
