const shapeOf = (value: unknown): string => {
  if (value === null) return 'null'
  return typeof value === 'number' ? String(value) : `a value of type ${typeof value}`
}

/**
 * The one reader of the time that a host gives to a flush or a close: milliseconds, a number of at least 0, `Infinity` included. What
 * is none of these is no wish to give everything up at once, or to wait for ever: it is told, and the default is taken. Never throws.
 *
 * @param options whatever the host gave; with nothing in it the default is taken and nothing is told
 * @param usual the default
 * @param wrong is told what is wrong, without the value of a text
 */
export const timeoutOf = <U extends number | undefined>(
  options: unknown,
  usual: U,
  wrong: (error: unknown) => void,
): number | U => {
  if (options === undefined || options === null) return usual
  try {
    if (typeof options !== 'object')
      throw new TypeError(`the options must be an object such as { timeout: 5000 }, got ${shapeOf(options)}`)
    const given: unknown = 'timeout' in options ? options.timeout : undefined
    if (given === undefined) return usual
    if (typeof given === 'number' && given >= 0) return given
    throw new TypeError(
      `timeout must be a number of milliseconds of at least 0, or Infinity, got ${shapeOf(given)}`,
    )
  } catch (error) {
    wrong(error)
    return usual
  }
}
