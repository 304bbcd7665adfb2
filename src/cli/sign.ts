/** `sign` and `verify`: the signature of a body by hand. */
import type { Readable } from 'node:stream'
import { right } from 'fp-ts/lib/Either.js'
import type { Secret } from '../signing/secret.ts'
import { sign } from '../signing/sign.ts'
import { verifyRaw } from '../signing/verify.ts'
import type { SignOptions, VerifyOptions } from './flags.ts'
import { openInput } from './input.ts'
import { orUsage, wrong } from './options.ts'
import type { Checked } from './options.ts'
import { whyNot } from './report.ts'
import { FAULT, FINE } from './terminal.ts'
import type { Terminal } from './terminal.ts'

/** Stops a wrong file from filling the memory. */
const MAX_BODY = 67_108_864
const LINE_FEED = 0x0a

const readAll = async (stream: Readable): Promise<Checked<Buffer>> => {
  const chunks: Buffer[] = []
  let size = 0
  try {
    // Chunks are bytes: no encoding was set.
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > MAX_BODY)
        return wrong(`the input is longer than ${String(MAX_BODY)} bytes, so it is not the body of a request`)
      chunks.push(chunk)
    }
    return right(Buffer.concat(chunks))
  } catch (error) {
    return wrong(`the input could not be read: ${whyNot(error)}`)
  }
}

const bodyOf = async (file: string, { host }: Terminal): Promise<Buffer> => {
  const input = orUsage(await openInput(file, host))
  return orUsage(await readAll(input.bytes()))
}

/** Why a body does not have this signature; undefined if it has. */
export const explainMismatch = (secret: Secret, body: Buffer, signature: string): string | undefined => {
  const result = verifyRaw(secret, body, signature)
  if (result._tag === 'Right') return undefined
  const text = body.toString('latin1')
  const withoutBreak = text.replace(/\r?\n$/, '')
  const isSignedWithout =
    withoutBreak !== text &&
    verifyRaw(secret, Buffer.from(withoutBreak, 'latin1'), signature)._tag === 'Right'
  return isSignedWithout
    ? 'it was signed without the line break at its end, which an editor or echo has added: remove it'
    : result.left.explanation
}

/** `headrace sign`: prints the signature of a body. */
export const signCommand = async (
  file = '-',
  { secret }: SignOptions,
  terminal: Terminal,
): Promise<number> => {
  const body = await bodyOf(file, terminal)
  if (body.at(-1) === LINE_FEED)
    terminal.err.line('headrace sign: the body ends with a line break, which is signed with it')
  terminal.out.line(sign(secret, body))
  return FINE
}

/** `headrace verify`: says whether a body has this signature, and if not, why. */
export const verifyCommand = async (
  file = '-',
  { secret, signature }: VerifyOptions,
  terminal: Terminal,
): Promise<number> => {
  const { out } = terminal
  const why = explainMismatch(secret, await bodyOf(file, terminal), signature)
  out.line(
    why === undefined ? out.paint('green', 'authentic') : `${out.paint('red', 'not authentic')}: ${why}`,
  )
  return why === undefined ? FINE : FAULT
}
