import { lookup as systemLookup } from 'node:dns'
import type { LookupAddress, LookupAllOptions } from 'node:dns'
import type { LookupFunction } from 'node:net'
import type { Guard } from './Egress.ts'
import { blockedAddress } from './NetworkError.ts'

/** Finds every address of a name. */
export type Lookup = (
  name: string,
  options: LookupAllOptions,
  done: (error: Error | null, found: ReadonlyArray<LookupAddress>) => void,
) => void

type Waiter = (error: Error | null, found: ReadonlyArray<LookupAddress>) => void

/** Several connections look up the same name at the same time, and a look-up that hangs holds one of four threads of the process. */
const shared = (lookup: Lookup): Lookup => {
  let waiters: Waiter[] = []
  return (name, options, done) => {
    waiters.push(done)
    if (waiters.length > 1) return
    lookup(name, options, (error, found) => {
      const all = waiters
      waiters = []
      for (const waiter of all) waiter(error, found)
    })
  }
}

/**
 * The look-up of one lane: every address found is judged, the forbidden ones are left out, and the connection is made to one
 * of those that were judged, so a name that answers differently a moment later changes nothing (webhooks/S6, S7).
 * Literal addresses never come here: who dials has to judge those (webhooks/S8).
 */
export const guardedLookup = (guard: Guard, lookup: Lookup = systemLookup): LookupFunction => {
  const ask = shared(lookup)
  return (name, options, done) => {
    ask(name, { ...options, all: true }, (error, found) => {
      if (error !== null) {
        done(error, [])
        return
      }
      const reasons = found.map(({ address }) => guard.address(address, name))
      const good = found.filter((_, at) => reasons[at] === undefined)
      const [first] = good
      if (first === undefined) done(blockedAddress(`${name} leads to ${reasons[0] ?? 'no address'}`), [])
      else if (options.all === true) done(null, good)
      else done(null, first.address, first.family)
    })
  }
}
