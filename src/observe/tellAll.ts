import type { Defect, Happening, Tell } from './Happening.ts'
import { isolate } from './isolate.ts'

const ignore = (): void => undefined

/**
 * One `Tell` out of several. Each is told everything, whatever the others do: one that throws, or answers a promise that
 * rejects, harms neither the pipeline nor the others, who are told of it as a defect (CL5). Undefined ones are left out.
 *
 * @example
 * import { tellAll } from 'headrace'
 *
 * const seen: string[] = []
 * const tell = tellAll((happening) => seen.push(happening._tag), undefined)
 * tell({ _tag: 'Accepted', at: 0, item: 'a' })
 * console.log(seen) // => [ 'Accepted' ]
 */
export const tellAll = (...tells: ReadonlyArray<Tell | undefined>): Tell => {
  const all = tells.filter((tell) => tell !== undefined)

  const tellOthers = (thrower: Tell, defect: Defect): void => {
    for (const tell of all) {
      if (tell !== thrower) isolate(tell, defect, ignore)
    }
  }

  // Made once for each, and not once for each happening: there are three or more of them for every event.
  const guarded = all.map((tell) => ({
    tell,
    fail: (error: unknown, happening: Happening): void => {
      // A Tell that fails at a defect must not start a chain of defects.
      if (happening._tag === 'Defect') return
      tellOthers(tell, { _tag: 'Defect', at: happening.at, where: 'tell', error })
    },
  }))

  return (happening) => {
    for (const { tell, fail } of guarded) isolate(tell, happening, fail)
  }
}
