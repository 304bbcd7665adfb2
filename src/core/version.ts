/** The version of this package. Written here, and held to package.json by a test, so that nothing is read from a disk to say it. */
export const version = '0.1.0'
