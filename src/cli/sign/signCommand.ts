import { sign } from '../../signing/sign.ts'
import { FINE, USAGE } from '../ExitCode.ts'
import type { Terminal } from '../Terminal.ts'
import { signedInput } from './signedInput.ts'

/** Flags as commander hands them over. */
export interface SignFlags {
  readonly secretEnv?: string
}

const LINE_FEED = 0x0a

/** `headrace sign`: prints the signature of a body. Answers the exit code. */
export const signCommand = async (file: string, flags: SignFlags, terminal: Terminal): Promise<number> => {
  const input = await signedInput(file, flags.secretEnv, process.env)
  if (input._tag === 'Left') {
    for (const sentence of input.left) terminal.err.line(`headrace sign: ${sentence}`)
    return USAGE
  }
  const { secret, body } = input.right
  if (body.at(-1) === LINE_FEED)
    terminal.err.line('headrace sign: the body ends with a line break, which is signed with it')
  terminal.out.line(sign(secret, body))
  return FINE
}
