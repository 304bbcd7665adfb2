import type { Fault } from '../../outcome/Refusal.ts'

/** Variables of an environment. */
export type Environment = Readonly<Record<string, string | undefined>>

const isReference = (value: object): value is { readonly env: unknown } =>
  'env' in value && Object.keys(value).length === 1

const stepTo = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)

/** A configuration whose secrets have been looked up. */
export interface Resolved {
  /** With a text of its own in place of each secret that is missing, so that the rest can be checked all the same. */
  readonly config: unknown
  readonly faults: ReadonlyArray<Fault>
}

/**
 * A configuration with what the environment holds in place of each `{"env":"NAME"}`, so that no secret need stand in the file. Every
 * variable that is missing is a fault. Neither its name nor a value is repeated: the name may be the secret itself, given by
 * mistake.
 */
export const withSecrets = (config: unknown, env: Environment): Resolved => {
  const faults: Fault[] = []

  const valueOf = (name: unknown, path: string): unknown => {
    const value = typeof name === 'string' && Object.hasOwn(env, name) ? env[name] : undefined
    if (value !== undefined && value !== '') return value
    const found = value === '' ? 'is empty' : 'is not set'
    faults.push({
      path,
      message:
        typeof name === 'string'
          ? `names a variable of the environment that ${found}: set it with export`
          : 'must be {"env": "NAME"}, with the name of a variable of the environment',
    })
    return `missing-${String(faults.length)}`
  }

  const resolved = (value: unknown, path: string): unknown => {
    if (Array.isArray(value)) {
      const entries: ReadonlyArray<unknown> = value
      return entries.map((entry, index) => resolved(entry, `${path}[${String(index)}]`))
    }
    if (typeof value !== 'object' || value === null) return value
    if (isReference(value)) return valueOf(value.env, path)
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, resolved(each, stepTo(path, key))]),
    )
  }

  return { config: resolved(config, ''), faults }
}
