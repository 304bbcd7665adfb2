import type { Readable } from 'node:stream'
import { whyNot } from '../output/whyNot.ts'
import { wrong } from '../values/Checked.ts'
import type { Checked } from '../values/Checked.ts'

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
