import { readFileSync } from 'node:fs'

/** What a system page holds, on all systems that say how much is mapped. */
const PAGE = 4_096

/** So much more may be mapped than after the last renewal. */
const MOST = 64 * 1_048_576

/** After so many writes it looks: each may touch a page of its own, and the system maps what lies around it, some 64 KiB. */
const EVERY = 256

/** Bytes of files that are mapped into this process; undefined where the system does not say. */
const mappedBytes = (): number | undefined => {
  try {
    const [, , shared] = readFileSync('/proc/self/statm', 'utf8').split(' ')
    const pages = Number(shared)
    return Number.isFinite(pages) ? pages * PAGE : undefined
  } catch {
    return undefined
  }
}

/** Tells when much more of files is mapped into this process than when it last said so. It is counted anew after that. */
export const wear = (mapped: () => number | undefined = mappedBytes): ((writes: number) => boolean) => {
  let written = EVERY
  /** The least since the last renewal: what was let go of does not count. */
  let least = Infinity
  return (writes) => {
    written += writes
    if (written < EVERY) return false
    written = 0
    const now = mapped()
    if (now === undefined) return false
    least = Math.min(least, now)
    if (now - least < MOST) return false
    least = Infinity
    written = EVERY
    return true
  }
}
