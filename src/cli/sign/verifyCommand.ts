import { FAULT, FINE, USAGE } from '../ExitCode.ts'
import type { Terminal } from '../Terminal.ts'
import { explainMismatch } from './explainMismatch.ts'
import { signedInput } from './signedInput.ts'

/** Flags as commander hands them over. */
export interface VerifyFlags {
  readonly secretEnv?: string
  readonly signature?: string
}

/** `headrace verify`: says whether a body has this signature, and why not. Answers the exit code. */
export const verifyCommand = async (
  file: string,
  flags: VerifyFlags,
  terminal: Terminal,
): Promise<number> => {
  const { signature } = flags
  const complain = (sentences: ReadonlyArray<string>): number => {
    for (const sentence of sentences) terminal.err.line(`headrace verify: ${sentence}`)
    return USAGE
  }
  if (signature === undefined)
    return complain(['--signature is missing: give the value of the X-Signature header'])
  const input = await signedInput(file, flags.secretEnv, process.env)
  if (input._tag === 'Left') return complain(input.left)
  const why = explainMismatch(input.right.secret, input.right.body, signature)
  terminal.out.line(
    why === undefined
      ? terminal.out.paint('green', 'authentic')
      : `${terminal.out.paint('red', 'not authentic')}: ${why}`,
  )
  return why === undefined ? FINE : FAULT
}
