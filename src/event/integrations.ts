/**
 * Which destinations an event may go to (EV10, CO1).
 *
 * @module
 */

import * as t from 'io-ts'
import { isRecord, kindOf } from '../core/json.ts'
import { inspection, isJson, stepsOf, toErrors, copyJson } from './json.ts'
import type { Inspection, Json, JsonObject, Finding, Trail } from './json.ts'

/** Destinations by name, and `All` for the rest: true or an object lets the event through, false holds it back. */
export type Integrations = Readonly<Record<string, boolean | JsonObject>>

/**
 * Whether an event with this map may go to the destination of that name. A destination that is named decides for itself;
 * for the others `All: false` means no, and everything else yes. Names are case sensitive (CO1, seed/B).
 *
 * @example
 * import { allows } from 'headrace'
 * console.log(allows({ All: false, Warehouse: true }, 'Warehouse')) // => true
 * console.log(allows({ All: false, Warehouse: true }, 'warehouse')) // => false
 * console.log(allows(undefined, 'Warehouse')) // => true
 */
export const allows = (integrations: Integrations | undefined, destinationName: string): boolean => {
  if (integrations === undefined) return true
  if (Object.hasOwn(integrations, destinationName)) return integrations[destinationName] !== false
  return !Object.hasOwn(integrations, 'All') || integrations['All'] !== false
}

const isSwitch = (value: Json | undefined): value is boolean | JsonObject =>
  typeof value === 'boolean' || isRecord(value)

/** Copies a map and finds what is wrong with it. `step` and `up` say where it stands. */
export const readIntegrations = (
  value: unknown,
  step: string,
  up: Trail | undefined,
  look: Inspection,
): Integrations => {
  const before = look.findings.length
  const copied = copyJson(value, step, up, 1, look)
  const switches: Record<string, boolean | JsonObject> = {}
  if (look.findings.length > before) return switches
  if (!isRecord(copied)) {
    look.findings.push({
      steps: stepsOf(up, step),
      message: `must be an object of destination names, each true, false or an object, not ${kindOf(value)}`,
    })
    return switches
  }
  for (const [name, chosen] of Object.entries(copied)) {
    if (isSwitch(chosen)) switches[name] = chosen
    else {
      look.findings.push({
        steps: [...stepsOf(up, step), name],
        message: `must be true, false or an object, not ${kindOf(chosen)}`,
      })
    }
  }
  return switches
}

const isMap = (value: unknown): value is Integrations => {
  try {
    return isJson(value, 1) && isRecord(value) && Object.values(value).every(isSwitch)
  } catch {
    return false
  }
}

/** Findings of a map that stands alone, where its own place is no step. */
const alone = (findings: ReadonlyArray<Finding>): ReadonlyArray<Finding> =>
  findings.map(({ steps, message }) => ({ steps: steps.slice(1), message }))

/** An integrations map (EV10); decoding copies it. */
export const Integrations: t.Type<Integrations, Integrations> = new t.Type(
  'Integrations',
  isMap,
  (value, context) => {
    const look = inspection()
    const read = readIntegrations(value, 'integrations', undefined, look)
    return look.findings.length === 0 ? t.success(read) : t.failures(toErrors(alone(look.findings), context))
  },
  t.identity,
)
