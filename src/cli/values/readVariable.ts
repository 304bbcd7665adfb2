import { right } from 'fp-ts/lib/Either.js'
import { wrong } from './Checked.ts'
import type { Checked } from './Checked.ts'

/**
 * The text in a variable of the environment, so that a secret is never in an argument, where every user of the machine can read it. A
 * variable that is not set or is empty is an error. The variable's name is not repeated either: it may be the secret itself,
 * given by mistake.
 *
 * @param what what it holds, such as `the secret`
 * @param orElse what else may be done about it
 */
export const readVariable = (
  flag: string,
  name: string,
  env: Readonly<Record<string, string | undefined>>,
  what: string,
  orElse = '',
): Checked<string> => {
  const text = Object.hasOwn(env, name) ? env[name] : undefined
  if (text !== undefined && text !== '') return right(text)
  const found = text === '' ? 'empty' : 'not set'
  return wrong(
    `${flag} must name a variable of the environment that holds ${what}, and the one it names is ${found}: set it with export${orElse}`,
  )
}
