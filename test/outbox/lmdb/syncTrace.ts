/** What `strace -f -y` wrote, with calls that other threads interrupted put together where they ended. */
const callsOf = (trace: string): ReadonlyArray<string> => {
  const begun = new Map<string, string>()
  return trace.split('\n').flatMap((line) => {
    const [, thread = '', what = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? []
    if (what.endsWith('<unfinished ...>')) {
      begun.set(thread, what.slice(0, -'<unfinished ...>'.length).trimEnd())
      return []
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(what)
    return [resumed === null ? what : `${begun.get(thread) ?? ''}${resumed[1] ?? ''}`]
  })
}

const isSync = (call: string): boolean => /^f(data)?sync\(\d+<[^>]*data\.mdb>\)\s+= 0/.test(call)

/** The descriptor that writes through to the disk, if this call opened one. */
const throughOf = (call: string): string | undefined =>
  /^openat\(.*data\.mdb", [^)]*O_DSYNC[^)]*\)\s+= (\d+)/.exec(call)?.[1]

/**
 * The acceptances before which the store was not synced: neither its pages by a sync, nor, after it, the page that makes them count by a
 * write that goes through to the disk. Also how many acceptances there were.
 */
export const unsynced = (
  trace: string,
): { readonly accepted: number; readonly early: ReadonlyArray<string> } => {
  const early: string[] = []
  let accepted = 0
  let through: string | undefined
  let state: 'open' | 'synced' | 'safe' = 'open'
  for (const call of callsOf(trace)) {
    through = throughOf(call) ?? through
    if (isSync(call)) state = 'synced'
    else if (state === 'synced' && through !== undefined && call.startsWith(`pwrite64(${through}<`))
      state = 'safe'
    const said = /^write\(1<[^>]*>, "(accepted \d+)/.exec(call)?.[1]
    if (said === undefined) continue
    accepted++
    if (state !== 'safe') early.push(said)
    state = 'open'
  }
  return { accepted, early }
}
