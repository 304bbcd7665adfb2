import { gather } from './gather.ts'
import { isField, reading } from './Reading.ts'
import type { Form, Reading } from './Reading.ts'

/** The form of the model itself: nothing is filled in, nothing is copied. */
const modelForm: Form = {
  fieldOf: (key) => (isField(key) ? key : undefined),
  label: (field) => field,
  timestamp: undefined,
  messageId: undefined,
  complete: true,
  pageNeedsUserId: false,
  owned: true,
}

/** Every own member is the very one that was read: so nothing was filled in, moved, cut or left out. */
const sameMembers = (input: object, event: object): boolean => {
  const given = new Map<string, unknown>(Object.entries(input))
  const read = Object.entries(event)
  return read.length === given.size && read.every(([key, value]) => given.get(key) === value)
}

/** Whether a value is an event in its canonical form already; `read` makes one of the fields. Never throws. */
export const isCanonical = (input: unknown, read: (look: Reading) => object | undefined): boolean => {
  if (typeof input !== 'object' || input === null) return false
  try {
    const look = reading(modelForm)
    const event = gather(look, input) ? read(look) : undefined
    return event !== undefined && look.findings.length === 0 && sameMembers(input, event)
  } catch {
    // An object that answers differently when it is asked again is no event.
    return false
  }
}
