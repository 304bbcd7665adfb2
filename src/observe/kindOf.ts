const frameOf = ({ stack = '', message }: Error): string => {
  // The message stands in the stack as well, and may be of many lines.
  const frames = stack.slice(stack.indexOf(message) + message.length)
  const first = /\n\s+at (.+)/.exec(frames)?.[1]
  return first === undefined ? '' : ` at ${first}`
}

const codeOf = (error: Error): string =>
  'code' in error && typeof error.code === 'string' ? ` (${error.code})` : ''

/**
 * What kind of error it is and where it came from, without its message: what a host's code or `JSON.parse` throws may quote the
 * payload or a secret. Whoever may see that subscribes to `headrace:defect`, and has the error itself.
 */
export const kindOf = (error: unknown): string => {
  try {
    return error instanceof Error ? error.name + codeOf(error) + frameOf(error) : `a thrown ${typeof error}`
  } catch {
    return 'an error that cannot be read'
  }
}
