/**
 * What a codec finds wrong, before it is written down for people: the steps to the place, and what would be right there. It
 * never holds the value itself, so no secret can get into a message by it (EV7).
 *
 * @module
 */
import * as t from 'io-ts'

/** A step into an object (a key) or into an array (a position). */
export type Step = string | number

/** One thing wrong in one place. */
export interface Finding {
  readonly steps: ReadonlyArray<Step>
  readonly message: string
}

/** The way down to an object, linked upwards: going one level deeper costs one small object and copies nothing. */
export interface Trail {
  readonly up: Trail | undefined
  readonly step: Step
  /** What stands there; it is how a cycle is seen. */
  readonly value: object
}

/** The steps of a trail, outermost first, with one more at the end. */
export const stepsOf = (trail: Trail | undefined, last?: Step): ReadonlyArray<Step> => {
  const steps: Step[] = last === undefined ? [] : [last]
  for (let at = trail; at !== undefined; at = at.up) steps.push(at.step)
  return steps.reverse()
}

const PLAIN_KEY = /^[\p{L}\p{N}_$ -]+$/u
const LONGEST_KEY = 60
const LONGEST_PATH = 12

const showStep = (step: Step): string => {
  if (typeof step === 'number') return `[${String(step)}]`
  const shown = step.length > LONGEST_KEY ? `${step.slice(0, LONGEST_KEY)}…` : step
  return PLAIN_KEY.test(step) ? `.${shown}` : `[${JSON.stringify(shown)}]`
}

/** A path for people: `properties.list[3].url`; keys that would be misread are quoted, very long paths lose their middle. */
export const showPath = (steps: ReadonlyArray<Step>): string => {
  const half = LONGEST_PATH / 2
  const path =
    steps.length > LONGEST_PATH
      ? [...steps.slice(0, half).map(showStep), '.…', ...steps.slice(-half).map(showStep)].join('')
      : steps.map(showStep).join('')
  return path.startsWith('.') ? path.slice(1) : path
}

/** What a value is, in plain words; never the value. */
export const kindOf = (value: unknown): string => {
  switch (typeof value) {
    case 'undefined':
      return 'undefined'
    case 'object':
      return value === null ? 'null' : kindOfObject(value)
    case 'number':
      return Number.isFinite(value) ? 'a number' : 'NaN or infinity'
    default:
      return `a ${typeof value}`
  }
}

const kindOfObject = (value: object): string => {
  try {
    if (Array.isArray(value)) return 'an array'
    if (value instanceof Date) return 'a Date'
    if (value instanceof Map) return 'a Map'
    return value instanceof Set ? 'a Set' : 'an object'
  } catch {
    return 'an object that cannot be read'
  }
}

/** The findings as io-ts knows errors, so that our codecs can stand inside codecs of a host. They hold no values. */
export const toErrors = (findings: ReadonlyArray<Finding>, context: t.Context): t.Errors =>
  findings.map(({ steps, message }) => ({
    value: undefined,
    context: [
      ...context,
      ...steps.map((step, index) => ({
        key: String(step),
        type: typeof steps[index + 1] === 'number' ? t.UnknownArray : t.UnknownRecord,
      })),
    ],
    message,
  }))
