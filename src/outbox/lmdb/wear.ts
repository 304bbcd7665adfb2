import { readFileSync } from 'node:fs'

/** What a system page holds, on all systems that say how much is mapped. */
const PAGE = 4_096

/** So much more may be mapped than after the last renewal. */
const MOST = 128 * 1_048_576

/** Asked so often, it looks once. */
const EVERY = 16

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
export const wear = (mapped: () => number | undefined = mappedBytes): (() => boolean) => {
  let asked = 0
  /** The least since the last renewal: what was let go of does not count. */
  let least = Infinity
  return () => {
    if (++asked % EVERY !== 0 && least !== Infinity) return false
    const now = mapped()
    if (now === undefined) return false
    least = Math.min(least, now)
    if (now - least < MOST) return false
    least = Infinity
    return true
  }
}
