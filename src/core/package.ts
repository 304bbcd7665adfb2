// Not by its name: a banner of a bundle often declares `createRequire`.
import nodeModule from 'node:module'

/** The version of this package. A test compares it with package.json. */
export const version = '0.1.0'

/**
 * Loads a package when it is needed, seen from this file. In a bundle that is the bundle's file: its
 * `import.meta.url`, or `__filename` in CommonJS, where bundlers leave `import.meta.url` undefined or the
 * address on the machine of the build.
 */
export const loadPackage = (name: string): unknown => {
  const bundle = typeof __filename === 'string' ? __filename : undefined
  // The type does not know of bundles.
  const here = (import.meta.url as string | undefined) ?? bundle
  if (here === undefined) throw new Error(`Cannot find module '${name}'`)
  try {
    return nodeModule.createRequire(here)(name)
  } catch (error) {
    if (bundle === undefined || bundle === here) throw error
    return nodeModule.createRequire(bundle)(name)
  }
}
