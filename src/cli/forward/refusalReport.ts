import { show } from '../../outcome/Refusal.ts'
import type { Refusal } from '../../outcome/Refusal.ts'
import type { BadLine } from '../../sources/Line.ts'
import type { Refused } from '../output/Report.ts'

/** A line that was turned away, and why. It says no value of it. */
export const refusalReport = (line: number, refusal: BadLine | Refusal): Refused => {
  const whole = (reason: Refused['reason'], message: string): Refused => ({
    t: 'refused',
    line,
    reason,
    faults: [{ path: '', message }],
  })
  switch (refusal._tag) {
    case 'BadLine':
      return whole(refusal.reason, refusal.detail)
    case 'Invalid':
      return { t: 'refused', line, reason: 'invalid', faults: refusal.faults }
    case 'TooLarge':
      return whole('tooLarge', show(refusal))
    default:
      return whole('notTaken', show(refusal))
  }
}
