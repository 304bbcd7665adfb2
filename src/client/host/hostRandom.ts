import { systemRandom } from '../../core/clock.ts'
import type { Random } from '../../core/clock.ts'

/**
 * The host's chance as the client uses it: when it throws, or answers no number in [0, 1), the machine's is taken (CL5).
 *
 * @param defect is told what was wrong
 */
export const hostRandom =
  (given: Random, defect: (error: unknown) => void): Random =>
  () => {
    try {
      const drawn = given()
      if (drawn >= 0 && drawn < 1) return drawn
      defect(new TypeError('it must answer a number from 0 up to, but not including, 1'))
    } catch (error) {
      defect(error)
    }
    return systemRandom()
  }
