import { readFileSync } from 'node:fs'

/**
 * The most memory that this process had so far, in bytes, mapped files included. What `resourceUsage` says begins with that of the process
 * from which this one was forked, so the system is asked where it tells.
 */
export const peak = () => {
  try {
    const [, kilobytes] = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
    if (kilobytes !== undefined) return Number(kilobytes) * 1_024
  } catch {
    // No such system.
  }
  return process.resourceUsage().maxRSS * 1_024
}
