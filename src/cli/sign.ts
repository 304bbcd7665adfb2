/** `sign` and `verify`: the signature of a body by hand. */
import { createReadStream } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { signatureOf } from '../signing/secret.ts'
import { verifyRaw } from '../signing/verify.ts'
import type { OptionsOf } from './flags.ts'
import { UsageError } from './options.ts'
import { whyNot } from './report.ts'
import { FAULT, FINE, type Terminal } from './terminal.ts'

const readBody = async (file: string, { host }: Terminal): Promise<Buffer> => {
  try {
    return await buffer(file === '-' ? host.stdin : createReadStream(file))
  } catch (error) {
    const why = `'${file}' cannot be read: ${whyNot(error)}`
    throw new UsageError(`${why}; give the body of a request, or - for stdin`)
  }
}

export const signCommand = async ({ secret }: OptionsOf<'sign'>, terminal: Terminal, file: string) => {
  const body = await readBody(file, terminal)
  if (body.at(-1) === 0x0a)
    terminal.err.line('headrace sign: the body ends with a line break, which is signed with it')
  terminal.out.line(signatureOf(secret, body))
  return FINE
}

export const verifyCommand = async (options: OptionsOf<'verify'>, terminal: Terminal, file: string) => {
  const { out } = terminal
  const result = verifyRaw(options.secret, await readBody(file, terminal), options.signature)
  if (result._tag === 'Right') {
    out.line(out.paint('green', 'authentic'))
    return FINE
  }
  out.line(`${out.paint('red', 'not authentic')}: ${result.left.explanation}`)
  return FAULT
}
