import type { Kind } from '../Kinds.ts'
import type { Field, Reading } from './Reading.ts'

const ALL: ReadonlyArray<Field> = ['type', 'messageId', 'timestamp', 'userId']
const ROUTED: ReadonlyArray<Field> = [...ALL, 'anonymousId', 'context', 'integrations']

const FIELDS_OF: Readonly<Record<Kind, ReadonlyArray<Field>>> = {
  page: [...ROUTED, 'name', 'category', 'properties', 'traits'],
  screen: [...ROUTED, 'name', 'properties'],
  identify: [...ROUTED, 'traits'],
  track: [...ROUTED, 'event', 'properties'],
  alias: [...ROUTED, 'previousId'],
  group: [...ROUTED, 'groupId', 'traits'],
  delete: ALL,
}

/** The top-level keys of an input that an event of its kind does not carry (EV3). Only names, never values. */
export const droppedKeys = (look: Reading, kind: Kind, input: object): ReadonlyArray<string> => {
  const carried = FIELDS_OF[kind]
  return Object.keys(input).filter((key) => {
    const field = look.form.fieldOf(key)
    return field === undefined || !carried.includes(field)
  })
}
