import { bodyBytes } from '../event/Limits.ts'
import { wholeNumber } from '../internal/wholeNumber.ts'
import type { DestinationOptions } from './Destination.ts'

/** The numbers of a destination, each with its default where none was given. */
export type Numbers = Required<
  Pick<DestinationOptions, 'timeout' | 'concurrency' | 'maxCount' | 'maxBytes' | 'inRound' | 'maxBody'>
>

const DEFAULTS: Numbers = {
  timeout: 5_000,
  concurrency: 16,
  maxCount: 100_000,
  maxBytes: 268_435_456,
  inRound: 1_000,
  maxBody: bodyBytes,
}

/** Reads the numbers of `whose` options. @throws RangeError naming the option that is not a whole number from 1. */
export const numbersOf = (
  options: Pick<DestinationOptions, keyof Numbers>,
  whose = 'webhookDestination',
): Numbers => {
  const read = (name: keyof Numbers, unit: string): number =>
    wholeNumber(`${whose}: ${name}`, unit, 1, options[name] ?? DEFAULTS[name])
  return {
    timeout: read('timeout', 'ms'),
    concurrency: read('concurrency', 'requests'),
    maxCount: read('maxCount', 'items'),
    maxBytes: read('maxBytes', 'bytes'),
    inRound: read('inRound', 'items'),
    maxBody: read('maxBody', 'bytes'),
  }
}
