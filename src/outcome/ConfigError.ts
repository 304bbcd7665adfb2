import type { Fault } from './Refusal.ts'

/**
 * Thrown by the façades when they are given wrong settings, before anything runs. `code` is stable; `faults` names everything that
 * is wrong, without values. An error class, because that is how Node's callers tell failures of a constructor apart.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly code = 'HEADRACE_CONFIG'
  readonly faults: ReadonlyArray<Fault>

  constructor(what: string, faults: ReadonlyArray<Fault>) {
    const lines = faults.map(({ path, message }) => (path === '' ? message : `${path} ${message}`))
    super(`${what}: ${lines.join('; ')}`)
    this.faults = faults
  }
}
