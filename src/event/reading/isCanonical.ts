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
  const look = reading(modelForm)
  if (!gather(look, input)) return false
  const event = read(look)
  try {
    return event !== undefined && look.findings.length === 0 && sameMembers(input, event)
  } catch {
    return false
  }
}
