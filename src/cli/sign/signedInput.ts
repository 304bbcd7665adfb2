import type { Secret } from '../../signing/Secret.ts'
import { openInput } from '../forward/Input.ts'
import { all, wrong } from '../values/Checked.ts'
import type { Checked } from '../values/Checked.ts'
import { readSecret } from '../values/readSecret.ts'
import { readBody } from './readBody.ts'

/** A body and the secret that it is signed with. */
export interface SignedInput {
  readonly secret: Secret
  readonly body: Buffer
}

/** What `sign` and `verify` both need: the secret first, for there is no use in waiting for a body without it. */
export const signedInput = async (
  file: string,
  secretEnv: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Checked<SignedInput>> => {
  const secret =
    secretEnv === undefined
      ? wrong('--secret-env is missing: name the variable of the environment that holds the secret')
      : readSecret('--secret-env', secretEnv, env)
  if (secret._tag === 'Left') return secret
  const input = await openInput(file)
  if (input._tag === 'Left') return input
  return all({ secret, body: await readBody(input.right.stream) })
}
