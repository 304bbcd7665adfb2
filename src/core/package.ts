import { valueOr } from './either.ts'

/** The version of this package. A test compares it with package.json. */
export const version = '0.1.0'

const loadCrypto = () => process.getBuiltinModule('node:crypto')
let loaded: ReturnType<typeof loadCrypto> | undefined

/** Node's crypto, loaded when it is needed: an `import` takes 4 ms. */
export const nodeCrypto = () => (loaded ??= loadCrypto())

/**
 * Loads a package when it is needed, seen from this file. In a bundle that is the bundle's file: its
 * `import.meta.url`, or `__filename` in CommonJS, where bundlers leave `import.meta.url` undefined or the
 * address on the machine of the build.
 */
export const loadPackage = (name: string): unknown => {
  // Not by `typeof`, which webpack replaces; an ES module lacks the name.
  const bundle = valueOr(undefined, () => __filename)
  // The type does not know of bundles.
  const here = (import.meta.url as string | undefined) ?? bundle
  const { createRequire } = process.getBuiltinModule('node:module')
  if (here === undefined) throw new Error(`Cannot find module '${name}'`)
  try {
    return createRequire(here)(name)
  } catch (error) {
    if (bundle === undefined || bundle === here) throw error
    return createRequire(bundle)(name)
  }
}
