import { right } from 'fp-ts/lib/Either.js'
import { secretFrom } from '../../signing/Secret.ts'
import type { Secret } from '../../signing/Secret.ts'
import { wrong } from './Checked.ts'
import type { Checked } from './Checked.ts'
import { readVariable } from './readVariable.ts'

/** The secret that stands in a variable of the environment. One that is missing is never a reason to send unsigned (DE10). */
export const readSecret = (
  flag: string,
  name: string,
  env: Readonly<Record<string, string | undefined>>,
): Checked<Secret> => {
  const text = readVariable(flag, name, env, 'the secret', `, or leave ${flag} out`)
  if (text._tag === 'Left') return text
  const secret = secretFrom(text.right)
  return secret._tag === 'Right'
    ? right(secret.right)
    : wrong(`${flag} names a variable whose value cannot be a secret: it ${secret.left.message}`)
}
