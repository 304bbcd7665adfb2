import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Fault } from '../../outcome/Refusal.ts'
import { traitNameOf } from './traitNameOf.ts'

const NAMELESS = 'must hold a letter or a digit: the trait is named after it'

/**
 * The trait names of all audiences and computed traits that go to the same receivers, in their order (CO3). Two names that become one
 * trait would overwrite each other, so that is a fault, as is a name of which nothing is left. Every fault is named at once, by
 * its position.
 *
 * @example
 * import { traitNamesOf } from 'headrace/collector'
 * console.log(traitNamesOf(['VIP Customers', 'Trial']))
 * // => { _tag: 'Right', right: [ 'vip_customers', 'trial' ] }
 * const colliding = traitNamesOf(['VIP', 'vip!'])
 * if (colliding._tag === 'Left') for (const { path, message } of colliding.left) console.log(path, message)
 * // => [1] becomes the same trait as [0]: rename one of them
 */
export const traitNamesOf = (
  names: ReadonlyArray<string>,
): Either<ReadonlyArray<Fault>, ReadonlyArray<string>> => {
  const faults: Fault[] = []
  const traits = new Map<string, number>()
  names.forEach((name, index) => {
    const path = `[${String(index)}]`
    // The type says so; a host without types may bring anything.
    const trait = typeof (name as unknown) === 'string' ? traitNameOf(name) : undefined
    const first = trait === undefined ? undefined : traits.get(trait)
    if (trait === undefined) faults.push({ path, message: NAMELESS })
    else if (first === undefined) traits.set(trait, index)
    else faults.push({ path, message: `becomes the same trait as [${String(first)}]: rename one of them` })
  })
  return faults.length > 0 ? left(faults) : right([...traits.keys()])
}
