import { right } from 'fp-ts/lib/Either.js'
import { secretFrom } from '../../signing/Secret.ts'
import type { Secret } from '../../signing/Secret.ts'
import { wrong } from './Checked.ts'
import type { Checked } from './Checked.ts'

/**
 * The secret that stands in a variable of the environment, so that it is never in an argument, where every user of the machine can
 * read it. A variable that is not set or is empty is an error, never a reason to send unsigned (DE10). The variable's name is
 * not repeated either: it may be the secret itself, given by mistake.
 */
export const readSecret = (
  flag: string,
  name: string,
  env: Readonly<Record<string, string | undefined>>,
): Checked<Secret> => {
  const text = Object.hasOwn(env, name) ? env[name] : undefined
  if (text === undefined || text === '')
    return wrong(
      `${flag} must name a variable of the environment that holds the secret, and the one it names is ${text === '' ? 'empty' : 'not set'}: set it with export, or leave ${flag} out`,
    )
  const secret = secretFrom(text)
  return secret._tag === 'Right'
    ? right(secret.right)
    : wrong(`${flag} names a variable whose value cannot be a secret: it ${secret.left.message}`)
}
