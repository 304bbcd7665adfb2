import type { Readable } from 'node:stream'
import type { Secret } from '../signing/secret.ts'
import { sign } from '../signing/sign.ts'
import { verifyRaw } from '../signing/verify.ts'
import { openInput } from './input.ts'
import { whyNot } from './report.ts'
import { FINE, USAGE, FAULT } from './terminal.ts'
import type { Terminal } from './terminal.ts'
import { wrong, all, readSecret } from './values.ts'
import type { Checked } from './values.ts'

/** Why a body does not have this signature, or undefined if it has. Looks for the slips that people make by hand. */
export const explainMismatch = (secret: Secret, body: Uint8Array, signature: string): string | undefined => {
  const result = verifyRaw(secret, body, signature)
  if (result._tag === 'Right') return undefined
  const withoutBreak = Buffer.from(body)
    .toString('latin1')
    .replace(/\r?\n$/, '')
  return withoutBreak.length < body.length &&
    verifyRaw(secret, Buffer.from(withoutBreak, 'latin1'), signature)._tag === 'Right'
    ? 'it was signed without the line break at its end, which an editor or echo has added: remove it'
    : result.left.explanation
}

/** No webhook body is longer than this by far; it stops a wrong file from filling the memory. */
const LONGEST = 67_108_864

/** The whole input, byte for byte. */
export const readBody = async (stream: Readable): Promise<Checked<Buffer>> => {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of stream) {
      // No encoding was set, so chunks are bytes.
      const bytes = chunk as Buffer
      size += bytes.length
      if (size > LONGEST)
        return wrong(`the input is longer than ${String(LONGEST)} bytes, so it is no body of a request`)
      chunks.push(bytes)
    }
    return { _tag: 'Right', right: Buffer.concat(chunks) }
  } catch (error) {
    return wrong(`the input could not be read: ${whyNot(error)}`)
  }
}

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
