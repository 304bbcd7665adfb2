import type createDebug from 'debug'
import { createRequire } from 'node:module'
import type { Happening, Tell } from './Happening.ts'
import { lineOf } from './lineOf.ts'

type CreateDebug = typeof createDebug
type Debugger = createDebug.Debugger

/** `debug` is a dependency, but a bundle may have been made without it, and a missing log must not stop a delivery. */
const load = (): CreateDebug | undefined => {
  try {
    // `require` has no types; this is the package that they describe.
    return createRequire(import.meta.url)('debug') as CreateDebug
  } catch {
    return undefined
  }
}

const lowerFirst = (tag: Happening['_tag']): string => tag.charAt(0).toLowerCase() + tag.slice(1)

/**
 * The runtime log of `DEBUG=analytics`, or `DEBUG=headrace:*` with one name for each kind of happening (`headrace:attempted`), on
 * stderr, one line for each (CL6). Undefined, and nothing is loaded, unless the variable `DEBUG` is set when it is called.
 *
 * @example
 * import { debugTell, tellAll } from 'headrace'
 *
 * const tell = tellAll(debugTell())
 * tell({ _tag: 'Accepted', at: 0, item: 'a' })
 */
export const debugTell = (): Tell | undefined => {
  if (process.env['DEBUG'] === undefined || process.env['DEBUG'] === '') return undefined
  const create = load()
  if (create === undefined) return undefined

  const analytics = create('analytics')
  const byTag = new Map<string, Debugger>()
  const debuggerFor = (tag: Happening['_tag']): Debugger => {
    const known = byTag.get(tag)
    if (known !== undefined) return known
    const made = create(`headrace:${lowerFirst(tag)}`)
    byTag.set(tag, made)
    return made
  }

  return (happening) => {
    const own = debuggerFor(happening._tag)
    const log = own.enabled ? own : analytics
    // As an argument, because a per cent sign in the first one is a placeholder.
    if (log.enabled) log('%s', lineOf(happening))
  }
}
