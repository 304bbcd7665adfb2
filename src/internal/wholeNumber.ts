/** A wrong number in a policy would show hours later, so it throws where it is written. Answers the number if it is right. */
export const wholeNumber = (name: string, unit: string, least: number, value: number): number => {
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new RangeError(`${name} must be a whole number (${unit}) from ${String(least)}, got ${String(value)}`)
}
